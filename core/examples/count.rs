//! Counts the frames and streams of a capture; `benchmarks/instructions.py` measures this program.

#![allow(
    unused_crate_dependencies,
    reason = "some are for tests or for the extension module only"
)]

use bdpcap_core::budget::Budget;
use bdpcap_core::pipeline::Pipeline;
use bdpcap_core::source::Source;
use bdpcap_core::track::{InferredScales, WantedEvents};
use std::process::ExitCode;

fn main() -> ExitCode {
    let sources = std::env::args_os().skip(1);
    let sources = sources.map(|path| Source::Path(path.into())).collect();
    let read = Pipeline::new(
        sources,
        None,
        &WantedEvents::None,
        &InferredScales::default(),
        Budget::DEFAULT,
        1,
    )
    .and_then(|mut pipeline| pipeline.advance(usize::MAX).map(|_| pipeline));
    match read {
        Ok(pipeline) => {
            let streams = pipeline.streams();
            #[allow(clippy::print_stdout, reason = "printing is the program's purpose")]
            {
                println!("{} {streams}", pipeline.counts().frames);
            }
            ExitCode::SUCCESS
        }
        Err(stop) => {
            eprintln!("{stop:?}");
            ExitCode::FAILURE
        }
    }
}
