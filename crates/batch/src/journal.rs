//! The file of a checkpoint, read and written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use fs4::{FileExt, TryLockError};

use crate::checkpoint::{Checkpoint, CheckpointError};

/// An open checkpoint, at whose end indices are added.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    line: String,
}

/// Longer lines are not ours, but for the first one with a long label.
const LONGEST_LINE: usize = 64;

impl Journal {
    /// The indices that are done, and the file to add to them.
    pub(crate) fn open(
        checkpoint: Checkpoint,
        requests: Option<usize>,
    ) -> Result<(Vec<usize>, Self), CheckpointError> {
        let header = checkpoint.header(requests);
        let path = checkpoint.path;
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut contents = Contents::default();
        let mut file = match opened {
            Ok(file) => file,
            Err(source) => return Err(CheckpointError::Io { path, source }),
        };
        // Where a file system knows no locks, there is none.
        if let Err(TryLockError::WouldBlock) = FileExt::try_lock(&file) {
            return Err(CheckpointError::InUse { path });
        }
        match contents.read(&file, &header, requests) {
            Ok(()) => {}
            Err(Wrong::Io(source)) => return Err(CheckpointError::Io { path, source }),
            Err(Wrong::Header(found)) => {
                let expected = header.trim_end().to_owned();
                return Err(CheckpointError::Foreign {
                    path,
                    found,
                    expected,
                });
            }
            Err(Wrong::Line { line, found }) => {
                return Err(CheckpointError::Line { path, line, found });
            }
        }
        match begin(&mut file, contents.whole, &header) {
            Ok(()) => Ok((
                contents.done,
                Self {
                    path,
                    file,
                    line: String::new(),
                },
            )),
            Err(source) => Err(CheckpointError::Io { path, source }),
        }
    }

    /// Not to be written.
    #[cfg(test)]
    pub(crate) fn broken() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_PATH"));
        Self {
            file: File::open(&path).expect("a manifest can be read"),
            path,
            line: String::new(),
        }
    }

    /// One more that is done.
    pub(crate) fn add(&mut self, index: usize) -> Result<(), CheckpointError> {
        use std::fmt::Write as _;

        self.line.clear();
        let _ = writeln!(self.line, "{index}");
        let written = self.file.write_all(self.line.as_bytes());
        written.map_err(|source| CheckpointError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

/// Cuts off what is not whole, and stands at the end.
fn begin(file: &mut File, whole: u64, header: &str) -> io::Result<()> {
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    if whole == 0 {
        file.write_all(header.as_bytes())?;
    }
    Ok(())
}

/// What a file holds.
#[derive(Debug, Default)]
struct Contents {
    done: Vec<usize>,
    /// Bytes of its whole lines.
    whole: u64,
}

enum Wrong {
    Io(io::Error),
    Header(String),
    Line { line: usize, found: String },
}

impl Contents {
    fn read(&mut self, file: &File, header: &str, requests: Option<usize>) -> Result<(), Wrong> {
        let mut reader = BufReader::new(file);
        let first = read_line(&mut reader, header.len().max(LONGEST_LINE))?;
        if header.as_bytes().starts_with(&first) && first.len() < header.len() {
            // Empty, or killed while it was made.
            return Ok(());
        }
        if first != header.as_bytes() {
            return Err(Wrong::Header(shown(&first)));
        }
        self.whole = first.len() as u64;
        for line in 2.. {
            let text = read_line(&mut reader, LONGEST_LINE)?;
            let whole = text.ends_with(b"\n");
            if !whole && text.len() < LONGEST_LINE {
                return Ok(());
            }
            let all = requests.unwrap_or(usize::MAX);
            let index = parse(&text).filter(|index| *index < all);
            let Some(index) = index else {
                let found = shown(&text);
                return Err(Wrong::Line { line, found });
            };
            self.done.push(index);
            self.whole += text.len() as u64;
        }
        Ok(())
    }
}

/// With its end, unless the file ends or the line is too long.
fn read_line(reader: &mut BufReader<&File>, longest: usize) -> Result<Vec<u8>, Wrong> {
    let mut line = Vec::new();
    reader
        .take(longest as u64)
        .read_until(b'\n', &mut line)
        .map_err(Wrong::Io)?;
    Ok(line)
}

fn parse(line: &[u8]) -> Option<usize> {
    let digits = line.strip_suffix(b"\n")?;
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}
