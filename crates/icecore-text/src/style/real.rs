//! Numbers with exponents or with as many digits as a double has, stored as doubles.

use serde::{Deserialize, Serialize};

/// Notation of the digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealForm {
    /// The fewest digits that identify the double, as in Python's `repr`: `0.1`, `1e-05`, `1e+16`.
    Shortest,
    /// `1.2345E+05`: one digit before the point.
    Scientific,
    /// `0.12345E+06`: Fortran's notation.
    Fortran,
}

/// Notation of a double.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealStyle {
    pub form: RealForm,
    /// Digits after the point.
    #[serde(default)]
    pub places: u8,
    /// Minimum number of digits in the exponent.
    #[serde(default)]
    pub exponent: u8,
    /// `E`, `e`, `D` or `d`.
    #[serde(default = "letter")]
    pub letter: char,
}

fn letter() -> char {
    'E'
}

impl RealStyle {
    /// Whether the notation is valid.
    pub fn sound(&self) -> bool {
        self.places <= 40 && self.exponent <= 4 && matches!(self.letter, 'e' | 'E' | 'd' | 'D')
    }

    /// Writes a finite number; nothing for others.
    pub fn print(&self, value: f64, out: &mut Vec<u8>) {
        if !value.is_finite() {
            return;
        }
        match self.form {
            RealForm::Shortest => shortest(value, out),
            RealForm::Scientific => self.scientific(value, self.places as usize, false, out),
            RealForm::Fortran => self.scientific(value, (self.places as usize).saturating_sub(1), true, out),
        }
    }

    fn scientific(&self, value: f64, places: usize, shifted: bool, out: &mut Vec<u8>) {
        let text = format!("{value:.places$e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let mut power: i32 = power.parse().unwrap_or(0);
        if shifted {
            let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
            out.extend_from_slice(sign.as_bytes());
            out.extend_from_slice(b"0.");
            out.extend(digits.bytes().filter(|b| *b != b'.'));
            power += i32::from(value != 0.0);
        } else {
            out.extend_from_slice(mantissa.as_bytes());
        }
        self.put_power(power, out);
    }

    fn put_power(&self, power: i32, out: &mut Vec<u8>) {
        let width = self.exponent as usize;
        out.push(self.letter as u8);
        out.push(if power < 0 { b'-' } else { b'+' });
        out.extend_from_slice(format!("{:0width$}", power.unsigned_abs()).as_bytes());
    }
}

/// Python's `repr`: exponents below 1e-4 and from 1e16 on.
fn shortest(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let power: i32 = power.parse().unwrap_or(0);
        let sign = if power < 0 { '-' } else { '+' };
        out.extend_from_slice(format!("{mantissa}e{sign}{:02}", power.unsigned_abs()).as_bytes());
    } else {
        out.extend_from_slice(format!("{value:?}").as_bytes());
    }
}
