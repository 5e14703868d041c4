//! Compiles `a2a.proto` to descriptors, without protoc.

use prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../wire/a2a.proto");
    let files = protox::compile(["a2a.proto"], ["../wire"])?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("a2a.binpb"), files.encode_to_vec())?;
    Ok(())
}
