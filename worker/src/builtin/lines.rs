//! Lines out of bytes as they come, each of bounded length.

/// The bytes that are not a whole line yet.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// How far no line break was found.
    searched: usize,
    longest: usize,
}

/// A line is longer than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    /// Lines of at most so many bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { bytes: Vec::new(), searched: 0, longest }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line without its line break.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let found = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
        if found.unwrap_or(self.bytes.len()) > self.longest {
            return Err(TooLong);
        }
        let Some(end) = found else {
            self.searched = self.bytes.len();
            return Ok(None);
        };
        let rest = self.bytes.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }

    /// What is left when no more bytes come: a line that lacks its end.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.bytes)).filter(|bytes| !bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_none_too_long() {
        let mut lines = Lines::new(5);
        lines.push(b"on");
        assert_eq!(lines.next(), Ok(None));
        lines.push(b"e\r\n\ntwo\nth");
        for line in ["one", "", "two"] {
            assert_eq!(lines.next(), Ok(Some(line.into())));
        }
        assert_eq!(lines.next(), Ok(None));
        lines.push(b"ree");
        assert_eq!(lines.next(), Ok(None));
        lines.push(b"s");
        assert_eq!(lines.next(), Err(TooLong));
        assert_eq!(lines.rest(), Some("threes".into()));
        assert_eq!(lines.rest(), None);
    }
}
