//! The checksum of POSIX `cksum`, which frame files use.

const TABLE: [[u32; 256]; 8] = table();

const fn table() -> [[u32; 256]; 8] {
    let mut table = [[0u32; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000_0000 != 0 { (crc << 1) ^ 0x04c1_1db7 } else { crc << 1 };
            bit += 1;
        }
        table[0][i] = crc;
        i += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut i = 0;
        while i < 256 {
            let before = table[k - 1][i];
            table[k][i] = (before << 8) ^ table[0][(before >> 24) as usize];
            i += 1;
        }
        k += 1;
    }
    table
}

/// A running checksum.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cksum {
    crc: u32,
    len: u64,
}

impl Cksum {
    pub fn update(&mut self, bytes: &[u8]) {
        let mut crc = self.crc;
        let (eights, rest) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in eights {
            let [a, b, c, d] = (u32::from_be_bytes([a, b, c, d]) ^ crc).to_be_bytes().map(usize::from);
            let [e, f, g, h] = [e, f, g, h].map(usize::from);
            crc = TABLE[7][a] ^ TABLE[6][b] ^ TABLE[5][c] ^ TABLE[4][d];
            crc ^= TABLE[3][e] ^ TABLE[2][f] ^ TABLE[1][g] ^ TABLE[0][h];
        }
        for byte in rest {
            crc = (crc << 8) ^ TABLE[0][usize::from((crc >> 24) as u8 ^ byte)];
        }
        self.crc = crc;
        self.len += bytes.len() as u64;
    }

    /// The checksum with the length appended, least significant byte first, without leading zeros.
    #[must_use]
    pub fn finish(self) -> u32 {
        let (mut crc, mut len) = (self.crc, self.len);
        while len != 0 {
            crc = (crc << 8) ^ TABLE[0][usize::from((crc >> 24) as u8 ^ len as u8)];
            len >>= 8;
        }
        !crc
    }
}

#[cfg(test)]
mod tests {
    use super::Cksum;

    /// What `cksum` prints; the length takes one byte and three.
    #[test]
    fn known_answers() {
        let mut short = Cksum::default();
        short.update(b"123456789");
        assert_eq!(short.finish(), 930_766_865);
        let mut long = Cksum::default();
        (0..7).for_each(|_| long.update(&[b'a'; 10_000]));
        assert_eq!(long.finish(), 3_508_083_167);
    }
}
