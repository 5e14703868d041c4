//! The agents that come with the binary: `echo`, which is the demo, and two that hand tasks on, to a command and to an HTTP endpoint.

mod demo;
mod exec;
mod group;
mod http;
mod lines;
mod script;

pub use demo::Demo;
pub use exec::Exec;
pub use http::Http;
