//! A2A 0.3: both dialects, both ways.

mod answers;
mod cards;
mod requests;
mod roundtrip;
