//! The agent's program: it must run where there is nothing beside it.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Programs for x86-64, as ELF numbers machines.
const X86_64: u16 = 62;
/// The header that names a dynamic linker.
const INTERPRETER: u32 = 3;

/// Reads the program.
///
/// # Errors
/// It can't be read, or could not run as the first process.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let program = std::fs::read(path).with_context(|| format!("reading the agent {}", path.display()))?;
    check(&program).with_context(|| format!("the agent {}", path.display()))?;
    Ok(program)
}

fn check(program: &[u8]) -> Result<()> {
    // 64 bits, the small end first.
    if !program.starts_with(b"\x7fELF\x02\x01") || number(program, 18, 2) != Some(X86_64.into()) {
        bail!("is no program for x86-64 (ELF)");
    }
    if has_interpreter(program).context("is cut off")? {
        bail!(
            "needs a dynamic linker, and there is none in the ramdisk: build it with \
             RUSTFLAGS='-C target-feature=+crt-static' and --target"
        );
    }
    Ok(())
}

fn has_interpreter(program: &[u8]) -> Option<bool> {
    let (table, size, count) = (number(program, 32, 8)?, number(program, 54, 2)?, number(program, 56, 2)?);
    for index in 0..count {
        let header = usize::try_from(table.checked_add(index * size)?).ok()?;
        if number(program, header, 4)? == u64::from(INTERPRETER) {
            return Some(true);
        }
    }
    Some(false)
}

/// A number, the small end first.
fn number(bytes: &[u8], start: usize, length: usize) -> Option<u64> {
    let field = bytes.get(start..start.checked_add(length)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program's headers: those of its segments are of these kinds.
    fn program(machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut program = b"\x7fELF\x02\x01\x01".to_vec();
        program.resize(64, 0);
        program[18..20].copy_from_slice(&machine.to_le_bytes());
        program[32] = 64;
        program[54] = 56;
        program[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            program.extend(kind.to_le_bytes());
            program.resize(program.len() + 52, 0);
        }
        program
    }

    #[test]
    fn only_a_static_program_for_the_machine_runs_as_the_first_process() {
        check(&program(X86_64, &[1, 2])).unwrap();
        for (program, why) in [
            (program(X86_64, &[1, 3]), "dynamic linker"),
            (program(183, &[1]), "no program for x86-64"),
            (b"#!/bin/sh\n".to_vec(), "no program"),
            (Vec::new(), "no program"),
            (program(X86_64, &[1, 1])[..110].to_vec(), "cut off"),
        ] {
            let error = check(&program).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
