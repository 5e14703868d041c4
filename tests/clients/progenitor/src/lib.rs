//! The clients that progenitor makes of the documents.

/// The client of the A2A surface.
pub mod a2a {
    include!(concat!(env!("OUT_DIR"), "/a2a.rs"));
}

/// The client of the worker surface.
pub mod worker {
    include!(concat!(env!("OUT_DIR"), "/worker.rs"));
}
