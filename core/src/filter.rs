//! # Filter
//! Executes a capture filter that libpcap compiled (classic BPF).
//!
//! The machine is that of McCanne and Jacobson, "The BSD Packet Filter" (USENIX Winter 1993), with libpcap's later
//! instructions. A load from beyond the captured bytes rejects the packet, and lengths are those on the wire. An
//! unconditional jump may lead backwards (`ip6 protochain` is a loop).

use std::error::Error;
use std::fmt;

/// Number of words of scratch memory.
const MEMORY_WORDS: usize = 16;

/// A validated filter for one link type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
}

/// Why a program cannot be executed. Instructions are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterError {
    /// The program has no instruction.
    Empty,
    /// The operation code of this instruction is unknown.
    Opcode(usize, u16),
    /// This instruction jumps out of the program.
    Jump(usize),
    /// This instruction names a word of scratch memory that does not exist.
    Memory(usize),
    /// This instruction divides by the constant zero.
    Division(usize),
    /// The last instruction does not return.
    NoReturn,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterError::Empty => write!(f, "the filter program is empty"),
            FilterError::Opcode(at, code) => {
                write!(f, "filter instruction {at}: unknown operation {code:#x}")
            }
            FilterError::Jump(at) => {
                write!(f, "filter instruction {at}: it jumps out of the program")
            }
            FilterError::Memory(at) => write!(f, "filter instruction {at}: no such word of memory"),
            FilterError::Division(at) => write!(f, "filter instruction {at}: division by zero"),
            FilterError::NoReturn => write!(f, "the filter program does not end with a return"),
        }
    }
}

impl Error for FilterError {}

/// An instruction with jumps resolved to indices. A is the accumulator, X the index register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instruction {
    LoadPacket {
        base: Base,
        offset: u32,
        size: Size,
    },
    LoadHeaderLength(u32),
    LoadA(Value),
    LoadX(Value),
    StoreA(usize),
    StoreX(usize),
    AToX,
    XToA,
    Negate,
    Arithmetic(Arithmetic, Operand),
    Jump(usize),
    Branch {
        test: Test,
        operand: Operand,
        yes: usize,
        no: usize,
    },
    ReturnConstant(u32),
    ReturnA,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Start,
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Word,
    Half,
    Byte,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Constant(u32),
    Memory(usize),
    WireLength,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Constant(u32),
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Or,
    And,
    ShiftLeft,
    ShiftRight,
    Modulo,
    Xor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
}

impl Program {
    /// Validates and decodes instructions `(code, jt, jf, k)`, the fields of libpcap's `bpf_insn`.
    ///
    /// # Errors
    /// If an operation is unknown, a jump leads out of the program, a word of memory does not exist, a constant
    /// divisor is zero or the last instruction does not return.
    pub fn new(instructions: &[(u16, u8, u8, u32)]) -> Result<Self, FilterError> {
        let count = instructions.len();
        let decoded = instructions.iter().enumerate();
        let decoded = decoded
            .map(|(at, &fields)| decode(at, fields, count))
            .collect::<Result<Vec<_>, _>>()?;
        match decoded.last() {
            None => Err(FilterError::Empty),
            Some(Instruction::ReturnConstant(_) | Instruction::ReturnA) => Ok(Program {
                instructions: decoded,
            }),
            Some(_) => Err(FilterError::NoReturn),
        }
    }

    /// Returns whether the filter accepts a packet of `wire_len` bytes of which `data` was captured.
    #[must_use]
    pub fn matches(&self, data: &[u8], wire_len: u32) -> bool {
        self.run(data, wire_len)
            .is_some_and(|accepted_bytes| accepted_bytes != 0)
    }

    /// Returns the program's return value; `None` if the program is aborted, which rejects the packet.
    fn run(&self, data: &[u8], wire_len: u32) -> Option<u32> {
        let (mut a, mut x) = (0u32, 0u32);
        let mut memory = [0u32; MEMORY_WORDS];
        let mut at = 0;
        // A loop steps over headers of several bytes each, so it never has more iterations than the packet has bytes.
        let mut iterations_left = data.len();
        loop {
            let mut next = at + 1;
            match *self.instructions.get(at)? {
                Instruction::LoadPacket {
                    base: Base::Start,
                    offset,
                    size,
                } => {
                    a = load(data, offset as usize, size)?;
                }
                Instruction::LoadPacket {
                    base: Base::X,
                    offset,
                    size,
                } => {
                    a = load(data, (x as usize).checked_add(offset as usize)?, size)?;
                }
                Instruction::LoadHeaderLength(offset) => {
                    x = (load(data, offset as usize, Size::Byte)? & 0x0f) << 2;
                }
                Instruction::LoadA(value) => a = value.get(&memory, wire_len),
                Instruction::LoadX(value) => x = value.get(&memory, wire_len),
                Instruction::StoreA(word) => memory[word] = a,
                Instruction::StoreX(word) => memory[word] = x,
                Instruction::AToX => x = a,
                Instruction::XToA => a = x,
                Instruction::Negate => a = a.wrapping_neg(),
                Instruction::Arithmetic(operation, operand) => {
                    a = operation.apply(a, operand.get(x))?
                }
                Instruction::Jump(target) => {
                    if target <= at {
                        iterations_left = iterations_left.checked_sub(1)?;
                    }
                    next = target;
                }
                Instruction::Branch {
                    test,
                    operand,
                    yes,
                    no,
                } => {
                    next = if test.holds(a, operand.get(x)) {
                        yes
                    } else {
                        no
                    };
                }
                Instruction::ReturnConstant(accepted_bytes) => return Some(accepted_bytes),
                Instruction::ReturnA => return Some(a),
            }
            at = next;
        }
    }
}

/// Decodes instruction number `at` of `count`. Operation codes are those of `pcap/bpf.h`: the class in the lowest three
/// bits, then size and mode, or operand and operation.
fn decode(
    at: usize,
    (code, jt, jf, k): (u16, u8, u8, u32),
    count: usize,
) -> Result<Instruction, FilterError> {
    let word = || match k as usize {
        word if word < MEMORY_WORDS => Ok(word),
        _ => Err(FilterError::Memory(at)),
    };
    let forward = |distance: u8| match at + 1 + usize::from(distance) {
        target if target < count => Ok(target),
        _ => Err(FilterError::Jump(at)),
    };
    let packet = |base, size| Instruction::LoadPacket {
        base,
        offset: k,
        size,
    };
    let operand = if code & 0x08 == 0 {
        Operand::Constant(k)
    } else {
        Operand::X
    };
    Ok(match code {
        0x00 => Instruction::LoadA(Value::Constant(k)),
        0x20 => packet(Base::Start, Size::Word),
        0x28 => packet(Base::Start, Size::Half),
        0x30 => packet(Base::Start, Size::Byte),
        0x40 => packet(Base::X, Size::Word),
        0x48 => packet(Base::X, Size::Half),
        0x50 => packet(Base::X, Size::Byte),
        0x60 => Instruction::LoadA(Value::Memory(word()?)),
        0x80 => Instruction::LoadA(Value::WireLength),
        0x01 => Instruction::LoadX(Value::Constant(k)),
        0x61 => Instruction::LoadX(Value::Memory(word()?)),
        0x81 => Instruction::LoadX(Value::WireLength),
        0xb1 => Instruction::LoadHeaderLength(k),
        0x02 => Instruction::StoreA(word()?),
        0x03 => Instruction::StoreX(word()?),
        0x84 => Instruction::Negate,
        0x04 | 0x0c => Instruction::Arithmetic(Arithmetic::Add, operand),
        0x14 | 0x1c => Instruction::Arithmetic(Arithmetic::Subtract, operand),
        0x24 | 0x2c => Instruction::Arithmetic(Arithmetic::Multiply, operand),
        0x34 | 0x94 if k == 0 => return Err(FilterError::Division(at)),
        0x34 | 0x3c => Instruction::Arithmetic(Arithmetic::Divide, operand),
        0x44 | 0x4c => Instruction::Arithmetic(Arithmetic::Or, operand),
        0x54 | 0x5c => Instruction::Arithmetic(Arithmetic::And, operand),
        0x64 | 0x6c => Instruction::Arithmetic(Arithmetic::ShiftLeft, operand),
        0x74 | 0x7c => Instruction::Arithmetic(Arithmetic::ShiftRight, operand),
        0x94 | 0x9c => Instruction::Arithmetic(Arithmetic::Modulo, operand),
        0xa4 | 0xac => Instruction::Arithmetic(Arithmetic::Xor, operand),
        0x05 => {
            // The distance is signed (libpcap's bpf_filter.c).
            let target = at as i64 + 1 + i64::from(k.cast_signed());
            match usize::try_from(target) {
                Ok(target) if target < count => Instruction::Jump(target),
                _ => return Err(FilterError::Jump(at)),
            }
        }
        0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
            let test = match code & 0xf0 {
                0x10 => Test::Equal,
                0x20 => Test::Greater,
                0x30 => Test::GreaterOrEqual,
                _ => Test::AnyBit,
            };
            Instruction::Branch {
                test,
                operand,
                yes: forward(jt)?,
                no: forward(jf)?,
            }
        }
        0x06 => Instruction::ReturnConstant(k),
        0x16 => Instruction::ReturnA,
        0x07 => Instruction::AToX,
        0x87 => Instruction::XToA,
        _ => return Err(FilterError::Opcode(at, code)),
    })
}

/// Reads a big-endian number in the packet; `None` if the capture lacks one of its bytes.
fn load(data: &[u8], offset: usize, size: Size) -> Option<u32> {
    let field = data.get(offset..)?;
    match size {
        Size::Word => field.first_chunk().map(|&bytes| u32::from_be_bytes(bytes)),
        Size::Half => field
            .first_chunk()
            .map(|&bytes| u32::from(u16::from_be_bytes(bytes))),
        Size::Byte => field.first().map(|&byte| u32::from(byte)),
    }
}

impl Value {
    fn get(self, memory: &[u32; MEMORY_WORDS], wire_len: u32) -> u32 {
        match self {
            Value::Constant(constant) => constant,
            Value::Memory(word) => memory[word],
            Value::WireLength => wire_len,
        }
    }
}

impl Operand {
    fn get(self, x: u32) -> u32 {
        match self {
            Operand::Constant(constant) => constant,
            Operand::X => x,
        }
    }
}

impl Arithmetic {
    /// Computes the result modulo 2^32; `None` for a division by zero.
    fn apply(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Arithmetic::Add => a.wrapping_add(b),
            Arithmetic::Subtract => a.wrapping_sub(b),
            Arithmetic::Multiply => a.wrapping_mul(b),
            Arithmetic::Divide => a.checked_div(b)?,
            Arithmetic::Or => a | b,
            Arithmetic::And => a & b,
            Arithmetic::ShiftLeft => a.checked_shl(b).unwrap_or(0),
            Arithmetic::ShiftRight => a.checked_shr(b).unwrap_or(0),
            Arithmetic::Modulo => a.checked_rem(b)?,
            Arithmetic::Xor => a ^ b,
        })
    }
}

impl Test {
    fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Test::Equal => a == b,
            Test::Greater => a > b,
            Test::GreaterOrEqual => a >= b,
            Test::AnyBit => a & b != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ACCEPT: (u16, u8, u8, u32) = (0x06, 0, 0, 262_144);
    const REJECT: (u16, u8, u8, u32) = (0x06, 0, 0, 0);
    const RETURN_A: (u16, u8, u8, u32) = (0x16, 0, 0, 0);

    fn run(instructions: &[(u16, u8, u8, u32)], data: &[u8]) -> Option<u32> {
        Program::new(instructions)
            .expect("a valid program")
            .run(data, 1500)
    }

    #[test]
    fn loads_are_big_endian_and_of_three_sizes() {
        let data = [1, 2, 3, 4, 5];
        assert_eq!(run(&[(0x20, 0, 0, 1), RETURN_A], &data), Some(0x0203_0405));
        assert_eq!(run(&[(0x28, 0, 0, 1), RETURN_A], &data), Some(0x0203));
        assert_eq!(run(&[(0x30, 0, 0, 1), RETURN_A], &data), Some(2));
    }

    #[test]
    fn a_load_beyond_the_captured_bytes_rejects() {
        for (code, offset) in [(0x20, 2), (0x28, 4), (0x30, 5), (0x30, u32::MAX), (0xb1, 5)] {
            assert_eq!(
                run(&[(code, 0, 0, offset), ACCEPT], &[0; 5]),
                None,
                "{code:#x} at {offset}"
            );
        }
        let indirect = [(0x01, 0, 0, u32::MAX), (0x50, 0, 0, u32::MAX), ACCEPT];
        assert_eq!(run(&indirect, &[0; 5]), None);
    }

    #[test]
    fn an_indirect_load_adds_the_header_length() {
        let data = [
            0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,
        ];
        assert_eq!(
            run(&[(0xb1, 0, 0, 0), (0x50, 0, 0, 0), RETURN_A], &data),
            Some(7)
        );
    }

    #[test]
    fn a_length_is_the_length_on_the_wire() {
        assert_eq!(run(&[(0x80, 0, 0, 0), RETURN_A], b"abc"), Some(1500));
        assert_eq!(
            run(&[(0x81, 0, 0, 0), (0x87, 0, 0, 0), RETURN_A], b"abc"),
            Some(1500)
        );
    }

    #[test]
    fn memory_and_registers_keep_their_values() {
        let program = [
            (0x00, 0, 0, 7),
            (0x02, 0, 0, 15),
            (0x61, 0, 0, 15),
            (0x03, 0, 0, 0),
            (0x00, 0, 0, 0),
            (0x60, 0, 0, 0),
            (0x07, 0, 0, 0),
            (0x0c, 0, 0, 0),
            RETURN_A,
        ];
        assert_eq!(run(&program, b""), Some(14));
    }

    #[test]
    fn arithmetic_is_modulo_2_to_the_32() {
        let cases = [
            (0x04, 3, 5, 8),
            (0x14, 3, 5, u32::MAX - 1),
            (0x24, 1 << 31, 3, 1 << 31),
            (0x34, 17, 5, 3),
            (0x94, 17, 5, 2),
            (0x44, 0b1100, 0b1010, 0b1110),
            (0x54, 0b1100, 0b1010, 0b1000),
            (0xa4, 0b1100, 0b1010, 0b0110),
            (0x64, 3, 4, 48),
            (0x74, 48, 4, 3),
            (0x64, 3, 32, 0),
            (0x74, 3, 32, 0),
            (0x84, 3, 0, u32::MAX - 2),
        ];
        for (code, a, k, expected) in cases {
            assert_eq!(
                run(&[(0x00, 0, 0, a), (code, 0, 0, k), RETURN_A], b""),
                Some(expected),
                "{code:#x}"
            );
            let by_x = [
                (0x00, 0, 0, a),
                (0x01, 0, 0, k),
                (code | 0x08, 0, 0, 0),
                RETURN_A,
            ];
            if code != 0x84 {
                assert_eq!(run(&by_x, b""), Some(expected), "{code:#x} by X");
            }
        }
    }

    #[test]
    fn a_division_by_an_index_of_zero_rejects() {
        for code in [0x3c, 0x9c] {
            assert_eq!(run(&[(code, 0, 0, 0), ACCEPT], b""), None);
        }
    }

    #[test]
    fn branches_compare_unsigned() {
        let taken =
            |code, a, k| run(&[(0x00, 0, 0, a), (code, 0, 1, k), ACCEPT, REJECT], b"") != Some(0);
        assert!(taken(0x15, 5, 5) && !taken(0x15, 5, 6));
        assert!(taken(0x25, u32::MAX, 5) && !taken(0x25, 5, 5));
        assert!(taken(0x35, 5, 5) && !taken(0x35, 4, 5));
        assert!(taken(0x45, 6, 2) && !taken(0x45, 4, 2));
    }

    #[test]
    fn an_endless_loop_is_aborted() {
        assert_eq!(run(&[(0x05, 0, 0, u32::MAX), REJECT], &[0; 100]), None);
    }

    #[test]
    fn invalid_programs_are_refused() {
        let error = |instructions: &[_]| Program::new(instructions).expect_err("an error");
        assert_eq!(error(&[]), FilterError::Empty);
        assert_eq!(error(&[(0x00, 0, 0, 1)]), FilterError::NoReturn);
        assert_eq!(
            error(&[(0xff, 0, 0, 0), ACCEPT]),
            FilterError::Opcode(0, 0xff)
        );
        assert_eq!(error(&[(0x15, 1, 0, 0), ACCEPT]), FilterError::Jump(0));
        assert_eq!(error(&[(0x05, 0, 0, 1), ACCEPT]), FilterError::Jump(0));
        assert_eq!(
            error(&[(0x05, 0, 0, (-2i32).cast_unsigned()), ACCEPT]),
            FilterError::Jump(0)
        );
        for code in [0x60, 0x61, 0x02, 0x03] {
            assert_eq!(error(&[(code, 0, 0, 16), ACCEPT]), FilterError::Memory(0));
        }
        for code in [0x34, 0x94] {
            assert_eq!(error(&[(code, 0, 0, 0), ACCEPT]), FilterError::Division(0));
        }
    }

    /// Generates an instruction that is valid if its jumps stay within the program.
    fn instruction() -> impl Strategy<Value = (u16, u8, u8, u32)> {
        let codes = (0u16..0x100)
            .filter(|&code| decode(0, (code, 0, 0, 1), 8).is_ok())
            .collect::<Vec<_>>();
        let k = prop_oneof![
            0u32..16,
            any::<u32>(),
            (1u32..4).prop_map(u32::wrapping_neg)
        ];
        (prop::sample::select(codes), 0u8..4, 0u8..4, k)
    }

    proptest! {
        #[test]
        fn every_valid_program_terminates(
            mut instructions in prop::collection::vec(instruction(), 1..12),
            data in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            instructions.push(ACCEPT);
            if let Ok(program) = Program::new(&instructions) {
                prop_assert_eq!(program.matches(&data, 64), program.run(&data, 64).unwrap_or(0) != 0);
            }
        }
    }
}
