//! Checkpoints: the state of a search in a file, from which another run resumes.
//!
//! The file holds the visited states in order, the bounds of levels, and the meaning of all numbers
//! of sets, including how the specification reached its states if it numbers them in order of
//! appearance. The file is written under another name and then moved, so that a run that is killed
//! while writing leaves the last checkpoint intact. Loading compares a fingerprint of program and
//! reductions. All numbers are little endian.
//!
//! The last number is a checksum (FNV-1a, 64 bits) of everything before it. It is compared before
//! anything is used: a truncated or damaged file would otherwise lose states silently, and a model
//! with a fault would seem to have none.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;

use super::expand::Reductions;
use super::search::{SHARDS, Search};
use super::spec_sets::SpecSets;
use super::step::Machine;

const MAGIC: &[u8; 24] = b"trueline checkpoint 2   ";
/// The beginning of the checkpoints of all versions.
const KIND: &[u8] = b"trueline checkpoint ";

/// Returns why no checkpoint can be written there, before a search begins: only a regular file is
/// ever replaced.
pub(crate) fn usable(path: &Path) -> io::Result<()> {
    let beside = beside(path);
    for place in [path, Path::new(&beside)] {
        match fs::symlink_metadata(place) {
            Ok(there) if !there.is_file() => {
                let what = if there.is_dir() { "a folder" } else { "not a regular file" };
                let which = if place == path { "this" } else { "the file of this name with .part" };
                let why = format!("{which} is {what}: no checkpoint can take its place");
                return Err(io::Error::other(why));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    // The only reliable test is to create a file in the folder.
    let was_there = Path::new(&beside).exists();
    OpenOptions::new().write(true).create(true).truncate(false).open(&beside).map_err(|error| {
        io::Error::new(error.kind(), format!("no checkpoint can be written there: {error}"))
    })?;
    if was_there { Ok(()) } else { fs::remove_file(&beside) }
}

/// The temporary name under which a checkpoint is written.
fn beside(path: &Path) -> OsString {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    beside
}

/// Writes the search to a file.
pub(crate) fn save(path: &Path, search: &Search) -> io::Result<()> {
    let beside = beside(path);
    let mut out =
        Summed { inner: BufWriter::with_capacity(1 << 20, File::create(&beside)?), sum: FNV };
    out.write_all(MAGIC)?;
    number(&mut out, fingerprint(search.machine, search.reductions))?;
    for value in [search.transitions, search.terminal, search.expanded as u64] {
        number(&mut out, value)?;
    }
    number(&mut out, search.bounds.len() as u64)?;
    for &bound in search.bounds.iter().flatten() {
        number(&mut out, bound as u64)?;
    }
    for shard in &search.shards {
        number(&mut out, shard.len() as u64)?;
        for id in 0..shard.len() {
            write_words(&mut out, shard.get(id))?;
        }
        number(&mut out, shard.dead().len() as u64)?;
        for &word in shard.dead() {
            number(&mut out, word)?;
        }
    }
    let tables = search.sets.lock().unwrap_or_else(PoisonError::into_inner).tables();
    let bare = |table: &[Vec<i32>]| -> Vec<Vec<u32>> {
        table.iter().map(|o| o.iter().map(|&w| w as u32).collect()).collect()
    };
    // After the tables were taken, so that all states they contain have an origin by now.
    let origins = search.machine.program.spec.origins();
    for table in [&bare(&tables.0), &tables.1, &tables.2, &bare(&origins)] {
        number(&mut out, table.len() as u64)?;
        for item in table {
            number(&mut out, item.len() as u64)?;
            write_words(&mut out, item)?;
        }
    }
    let sum = out.sum;
    number(&mut out, sum)?;
    out.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(beside, path)
}

/// Reads a search from a file. `sets` must be new.
pub(crate) fn load<'a>(
    path: &Path,
    machine: &'a Machine,
    sets: &'a Mutex<SpecSets>,
    reductions: Reductions,
    threads: usize,
) -> io::Result<Search<'a>> {
    let mut file = BufReader::with_capacity(1 << 20, whole(path)?);
    file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
    if read_number(&mut file)? != fingerprint(machine, reductions) {
        return Err(io::Error::other(
            "the checkpoint is of another model, other settings or other reductions",
        ));
    }
    let mut search = Search::empty(machine, sets, reductions, threads);
    search.transitions = read_number(&mut file)?;
    search.terminal = read_number(&mut file)?;
    search.expanded = read_number(&mut file)? as usize;
    let bounds = read_number(&mut file)?;
    search.bounds.clear();
    for _ in 0..bounds {
        let bound: io::Result<Vec<usize>> =
            (0..SHARDS).map(|_| Ok(read_number(&mut file)? as usize)).collect();
        search.bounds.push(bound?);
    }
    let width = machine.layout.words + 1;
    for shard in &mut search.shards {
        let states = read_number(&mut file)? as usize;
        let records = read_words(&mut file, states.saturating_mul(width))?;
        let dead = read_number(&mut file)?;
        let dead: io::Result<Vec<u64>> = (0..dead).map(|_| read_number(&mut file)).collect();
        shard.restore(&records, dead?);
    }
    let mut tables: Vec<Vec<Vec<u32>>> = Vec::new();
    for _ in 0..4 {
        let mut table = Vec::new();
        for _ in 0..read_number(&mut file)? {
            let length = read_number(&mut file)? as usize;
            table.push(read_words(&mut file, length)?);
        }
        tables.push(table);
    }
    let signed = |table: &[Vec<u32>]| -> Vec<Vec<i32>> {
        table.iter().map(|o| o.iter().map(|&w| w as i32).collect()).collect()
    };
    let objects = signed(&tables[0]);
    machine.program.spec.recover(&signed(&tables[3])).map_err(io::Error::other)?;
    let mut sets = sets.lock().unwrap_or_else(PoisonError::into_inner);
    sets.restore(&objects, &tables[1], &tables[2]);
    drop(sets);
    Ok(search)
}

/// The file, if it begins as a checkpoint does and its sum is right.
fn whole(path: &Path) -> io::Result<File> {
    // A folder cannot be read, and a pipe might never be opened.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("this is not a checkpoint: it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut input = BufReader::with_capacity(1 << 20, &mut file);
    let mut magic = [0; MAGIC.len()];
    if length < MAGIC.len() as u64 || input.read_exact(&mut magic).is_err() {
        return Err(io::Error::other("this is not a checkpoint: it is too short for one"));
    }
    if magic != *MAGIC {
        let why = match magic.starts_with(KIND) {
            true => "this checkpoint was written by another version of trueline",
            false => "this is not a checkpoint of trueline",
        };
        return Err(io::Error::other(why));
    }
    let damaged = || io::Error::other("the checkpoint is cut short or damaged: its sum is wrong");
    let rest = length.checked_sub(MAGIC.len() as u64 + 8).ok_or_else(damaged)?;
    let mut sum = Summed { inner: io::sink(), sum: FNV };
    sum.write_all(&magic)?;
    if io::copy(&mut input.by_ref().take(rest), &mut sum)? != rest
        || read_number(&mut input)? != sum.sum
    {
        return Err(damaged());
    }
    Ok(file)
}

fn fingerprint(machine: &Machine, reductions: Reductions) -> u64 {
    let mut hash = FixedState::with_seed(29).build_hasher();
    format!("{:?} {:?} {:?}", machine.program, reductions, machine.points).hash(&mut hash);
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    machine.program.spec.initial().hash(&mut hash);
    hash.finish()
}

/// Passes on written bytes and computes their checksum.
struct Summed<W> {
    inner: W,
    sum: u64,
}

/// The initial value of the checksum.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        for byte in &bytes[..written] {
            self.sum = (self.sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn number(out: &mut impl Write, value: u64) -> io::Result<()> {
    out.write_all(&value.to_le_bytes())
}

fn write_words(out: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

fn read_number(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_words(file: &mut impl Read, count: usize) -> io::Result<Vec<u32>> {
    // A damaged file may claim any length, so memory is allocated as the words arrive.
    let mut words = Vec::with_capacity(count.min(1 << 20));
    let mut bytes = [0; 4];
    for _ in 0..count {
        file.read_exact(&mut bytes)?;
        words.push(u32::from_le_bytes(bytes));
    }
    Ok(words)
}
