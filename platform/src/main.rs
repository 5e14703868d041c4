//! The entry of `taskyard`. Everything is in the library, where tests reach it.

fn main() -> std::process::ExitCode {
    platform::cli::main()
}
