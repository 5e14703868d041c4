//! A2A 0.3: both dialects, both ways.

mod answers;
mod requests;
