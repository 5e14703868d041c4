//! The OpenAPI documents.

/// A document by its file name.
#[derive(Debug, Clone)]
pub struct Document {
    /// Such as `worker.json`.
    pub name: &'static str,
    /// What is in the file, the line feed at its end included.
    pub text: String,
}

/// Every document, as the code has it. Needs neither an engine nor a database.
pub fn documents() -> Vec<Document> {
    Vec::new()
}
