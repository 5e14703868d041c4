//! The agents that come with the binary.

mod demo;

pub use demo::Demo;
