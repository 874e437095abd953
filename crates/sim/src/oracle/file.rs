use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::oracle::Oracle;
use crate::scenario::Scenario;

/// Part of every key: another number forgets what an earlier simulator found.
const MODEL: u32 = 3;

/// Oracles that were found before, in a JSON file: the sweep is most of the work.
///
/// A key is made of the scenario's content, without its name, and the seed.
#[derive(Debug, Default)]
pub struct OracleFile {
    path: Option<PathBuf>,
    found: BTreeMap<String, Oracle>,
    changed: bool,
}

impl OracleFile {
    /// Reads the file; a file that is not there is empty.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or holds something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        let found = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path: Some(path.to_owned()),
            found,
            changed: false,
        })
    }

    /// Finds it here, or by a sweep on so many threads.
    pub fn get(&mut self, scenario: &Scenario, seed: u64, threads: usize) -> Oracle {
        let key = key(scenario, seed);
        if let Some(oracle) = self.found.get(&key) {
            return oracle.clone();
        }
        let oracle = Oracle::sweep(scenario, seed, threads);
        self.found.insert(key, oracle.clone());
        self.changed = true;
        oracle
    }

    /// Writes what is new.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&mut self) -> io::Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.changed) else {
            return Ok(());
        };
        let mut text = serde_json::to_string_pretty(&self.found)?;
        text.push('\n');
        fs::write(path, text)?;
        self.changed = false;
        Ok(())
    }
}

fn key(scenario: &Scenario, seed: u64) -> String {
    let anonymous = Scenario {
        id: String::new(),
        ..scenario.clone()
    };
    let content = format!("{MODEL} {seed} {anonymous:?}");
    format!("{:016x}", fnv(content.as_bytes()))
}

/// FNV-1a, 64 bits. Source: RFC 9923.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
