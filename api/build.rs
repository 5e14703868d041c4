//! Compiles the protos to descriptors, without protoc.

use prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    for name in ["a2a", "a2a_v03"] {
        let file = format!("{name}.proto");
        println!("cargo:rerun-if-changed=../wire/{file}");
        // Apart, so that the older one can be kept from those who shall not see it.
        let files = protox::compile([file], ["../wire"])?;
        std::fs::write(out.join(format!("{name}.binpb")), files.encode_to_vec())?;
    }
    Ok(())
}
