//! Reads frames from an arbitrary file. The input is the file, compressed or plain.

#![no_main]

use bdpcap_core::capture::Reader;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// Maximum number of frames read, since compressed input may expand to very many. Its bound is tested elsewhere.
const FRAMES: u64 = 10_000;

fuzz_target!(|file: &[u8]| {
    let Ok(mut reader) = Reader::open(Box::new(Cursor::new(file.to_vec())), "fuzz") else {
        return;
    };
    let mut frames = 0;
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                frames += 1;
                assert_eq!(frame.number, frames);
            }
            Ok(None) => break,
            Err(damage) => {
                assert_eq!(damage.frame, frames + 1);
                assert!(!damage.to_string().contains('\n'));
                assert_eq!(reader.next_frame(), Ok(None), "the end stays the end");
                break;
            }
        }
        if frames == FRAMES {
            break;
        }
    }
    let _ = reader.info().drops();
});
