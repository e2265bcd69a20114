//! # Filter
//! A capture filter that libpcap compiled (classic BPF), executed.
