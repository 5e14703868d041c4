//! Free ports of 127.0.0.1 that stay a process's own over a restart: below the range from which the kernel takes them for outgoing
//! connections, which would sit on a port while its process is down.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port, and how many there are.
const FIRST: u16 = 12_000;
const COUNT: u16 = 8_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port nobody listens on.
///
/// # Panics
/// When none is free.
pub(crate) fn free() -> u16 {
    // Two test programs at once begin at different places.
    let start = (std::process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let turn = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + ((u32::from(start) * 37 + u32::from(turn)) % u32::from(COUNT)) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port from {FIRST} on is free");
}
