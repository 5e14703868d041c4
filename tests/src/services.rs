//! The Postgres and the Redis that `./test` starts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Where they are.
#[derive(Debug, Clone)]
pub struct Services {
    /// URL of a database from which others are created.
    pub postgres: String,
    /// URL of the Redis.
    pub redis: String,
}

impl Services {
    /// The services the environment names. None, said aloud, when there are none and `TASKYARD_TEST_SERVICES_OPTIONAL=1`.
    ///
    /// # Panics
    /// When there are none and nobody said that this is fine.
    pub fn find() -> Option<Services> {
        let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (postgres, redis) = (of("TASKYARD_TEST_POSTGRES"), of("TASKYARD_TEST_REDIS"));
        if let (Some(postgres), Some(redis)) = (postgres, redis) {
            return Some(Services { postgres, redis });
        }
        assert!(
            of("TASKYARD_TEST_SERVICES_OPTIONAL").as_deref() == Some("1"),
            "TASKYARD_TEST_POSTGRES and TASKYARD_TEST_REDIS are not set: run `./test`, which starts both; \
             TASKYARD_TEST_SERVICES_OPTIONAL=1 leaves out what needs them"
        );
        eprintln!(
            "LEFT OUT: this test needs Postgres and Redis, and TASKYARD_TEST_SERVICES_OPTIONAL=1 says to go without"
        );
        None
    }

    /// Forgets everything Redis holds.
    ///
    /// # Panics
    /// When Redis does not do it.
    pub fn flush_redis(&self) {
        let address = self.redis.trim_start_matches("redis://").split('/').next().unwrap_or_default();
        let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("connecting to {address}: {error}"));
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
        stream.write_all(b"FLUSHALL\r\n").expect("sending FLUSHALL");
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).expect("reading the answer to FLUSHALL");
        assert_eq!(&answer, b"+OK\r\n");
    }
}
