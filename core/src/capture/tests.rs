//! Tests properties of reading, and compares packet counts with capinfos.

use std::fs::{self, File};
use std::path::PathBuf;

use proptest::prelude::*;

use super::Reader;
use super::testing::{block, file, little, option, read};

/// Returns a pcap file with packets of these sizes, and the offset at which each record ends.
fn pcap(sizes: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = file(0xa1b2_c3d4, (2, 4), 1);
    let ends = sizes.iter().map(|&size| {
        bytes.extend(little(&[1, 2, size as u32, 1500], &vec![7; size]));
        bytes.len()
    });
    let ends = ends.collect();
    (bytes, ends)
}

/// Returns a pcapng file with packets of these sizes, and the offset at which each block ends.
fn pcapng(sizes: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = block(
        0x0a0d_0d0a,
        &little(
            &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX],
            &option(1, b"comment"),
        ),
    );
    bytes.extend(block(1, &little(&[1, 0], &option(9, &[9]))));
    let ends = sizes.iter().map(|&size| {
        let mut body = little(&[0, 0, 5, size as u32, 1500], &vec![7; size]);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(option(4, &3u64.to_le_bytes()));
        bytes.extend(block(6, &body));
        bytes.len()
    });
    let ends = ends.collect();
    (bytes, ends)
}

type Build = fn(&[usize]) -> (Vec<u8>, Vec<usize>);

fn formats() -> impl Strategy<Value = Build> {
    prop_oneof![Just(pcap as Build), Just(pcapng as Build)]
}

proptest! {
    #[test]
    fn a_truncated_file_has_exactly_the_frames_before_the_cut(
        build in formats(),
        sizes in prop::collection::vec(0usize..200, 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, ends) = build(&sizes);
        let start = build(&[]).0.len();
        let cut = start + cut.index(bytes.len() - start);
        let whole = read(&bytes);
        prop_assert_eq!(whole.frames.len(), sizes.len());
        let left = read(&bytes[..cut]);
        let expected = ends.iter().filter(|&&end| end <= cut).count();
        prop_assert_eq!(&left.frames, &whole.frames[..expected]);
        let last_end = ends[..expected].last().copied().unwrap_or(start);
        let place = left.damage.map(|damage| (damage.frame, damage.offset));
        prop_assert_eq!(place, (cut > last_end).then_some((expected as u64 + 1, last_end as u64)));
    }

    #[test]
    fn damaged_bits_never_panic(
        build in formats(),
        sizes in prop::collection::vec(0usize..200, 1..8),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..20),
    ) {
        let (mut bytes, _) = build(&sizes);
        let length = bytes.len();
        for (place, bit) in flips {
            bytes[place.index(length)] ^= 1 << bit;
        }
        // Every record has at least 12 bytes.
        prop_assert!(read(&bytes).frames.len() <= length / 12);
    }

    #[test]
    fn random_bytes_never_panic(
        magic in prop::sample::select(vec![
            vec![], vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], vec![0xa1, 0xb2, 0xcd, 0x34, 0, 2, 0, 3],
            block(0x0a0d_0d0a, &little(&[0x1a2b_3c4d, 1, 0, 0], b"")), vec![0x1f, 0x8b, 8],
            vec![0x28, 0xb5, 0x2f, 0xfd], vec![0x04, 0x22, 0x4d, 0x18], vec![0x50, 0x2a, 0x4d, 0x18],
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let bytes = [magic, bytes].concat();
        prop_assert!(read(&bytes).frames.len() <= bytes.len() / 12);
    }
}

/// Captures with a link type that Wireshark 4.0 does not know, so that capinfos does not count their packets. Their
/// counts are those of `tcpdump --count`.
const COUNTED_BY_TCPDUMP: [(&str, u64); 14] = [
    ("brcm-tag-prepend.pcap", 15),
    ("brcm-tag.pcap", 23),
    ("dsa-high-vid.pcap", 4),
    ("dsa.pcap", 8),
    ("edsa-high-vid.pcap", 4),
    ("edsa.pcap", 10),
    ("frf16_magic_ie-oobr.pcap", 1),
    ("hoobr_juniper3.pcap", 1),
    ("juniper_es_oobr.pcap", 1),
    ("juniper_monitor_invalid_cookie_length.pcap", 1),
    ("kday6.pcap", 1),
    ("vtp_asan-2.pcap", 1),
    ("vtp_asan-3.pcap", 1),
    ("vtp_asan.pcap", 5),
];

#[test]
fn packet_counts_equal_those_of_capinfos() {
    let public = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/public");
    let Ok(index) = fs::read_to_string(public.join("INDEX.tsv")) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is missing",
            public.display()
        );
        return;
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in index.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (path, count) = (fields[0], fields[8]);
        let expected = count.parse().unwrap_or_else(|_| {
            let name = path.rsplit('/').next();
            let known = COUNTED_BY_TCPDUMP
                .iter()
                .find(|(file, _)| Some(*file) == name);
            known.expect("a count by capinfos or tcpdump").1
        });
        let input = File::open(public.join(path)).expect("a capture of the index");
        let mut frames = 0;
        let end = Reader::open(Box::new(input), path).and_then(|mut reader| {
            while reader.next_frame()?.is_some() {
                frames += 1;
            }
            Ok(())
        });
        if frames != expected || end.is_err() {
            wrong.push(format!("{path}: {frames} frames for {expected}, {end:?}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 0);
}
