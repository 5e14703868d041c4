//! A2A 0.3, for clients that have not moved to 1.0 yet.
//!
//! 0.3 has two dialects: that of JSON-RPC, which tells objects apart by a member `kind` ([`rpc`]), and that of the
//! proto `a2a.v1`, spoken over HTTP+JSON and gRPC ([`proto`]). Both are translated here from and to the types of
//! 1.0, and nothing is decided: whatever an operation does, it does on 1.0's types, and learns of 0.3 no more than the
//! caller's [`Version`](crate::Version).
//!
//! Requests are read by declarations of their own (`request.rs`), which take the parts of either dialect in both, and
//! hold the same rules as those of 1.0 under 0.3's names: a violation names the member that the client knows. What an
//! operator bounds (how many parts) and that a client speaks as a user is checked by the operation later, under paths
//! that are the same in both versions. Answers borrow what they print (`answer.rs`).
//!
//! What 0.3 has no place for is left out of its answers: a file name or a media type on a part that is no file, and in
//! the proto's dialect `referenceTaskIds`. `data` is an object in 0.3; other values travel as `{"value": ..}` with
//! `data_part_compat` in the part's metadata, as the official SDKs have it, and come back from there.
//!
//! In the proto's dialect `blocking` has no presence: a client that says no and one that says nothing send the same, and
//! both are answered at once. Elsewhere absent is yes.
//!
//! `fileWithBytes` holds what the proto says, the file's bytes. The Python and Go SDKs of 0.3 put base64 text there
//! instead, the JavaScript and Java ones do not; the two cannot be told apart by their content.

use crate::error::Error;
use crate::event::StreamResponse;

mod answer;
mod card;
mod names;
#[expect(private_interfaces, reason = "declared by the wire's macro, which makes types public")]
mod part;
pub mod proto;
#[expect(unreachable_pub, reason = "declared by the wire's macro, which makes types public")]
mod request;
pub mod rpc;
mod word;

pub use card::card;

/// The body of a webhook call in 0.3, from the one in 1.0: the bare object with its `kind`.
///
/// # Errors
/// As of [`parse`](crate::parse()), when the text is no stream response of 1.0.
pub fn notification(body: &str) -> Result<String, Error> {
    let event: StreamResponse = crate::parse(body.as_bytes())?;
    serde_json::to_string(&rpc::stream_response(&event)).map_err(Error::internal)
}
