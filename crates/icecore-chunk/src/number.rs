//! Elements as numbers: one trait over the primitive types, and dispatch from a data type to them.

use half::f16;

/// A primitive element. It is loaded from bytes of any alignment, in native order.
pub trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Bytes of an element.
    const SIZE: usize;
    /// Whether the type has fractions, NaN and infinities.
    const FLOAT: bool;

    /// The elements of `bytes`; an incomplete element at the end is ignored.
    fn values(bytes: &[u8]) -> impl Iterator<Item = Self> + '_;
    fn float(self) -> f64;
    /// Exact for integers; the integer part of a float, 0 for NaN.
    fn int(self) -> i128;
    /// The nearest value of the type.
    fn from_int(value: i128) -> Self;
    /// The nearest value of the type; NaN for NaN if the type has one.
    fn from_float(value: f64) -> Self;
    fn is_nan(self) -> bool;
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! whole {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            const FLOAT: bool = false;

            fn values(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                bytes.as_chunks::<{ size_of::<$t>() }>().0.iter().map(|b| <$t>::from_ne_bytes(*b))
            }
            #[inline(always)]
            fn float(self) -> f64 { self as f64 }
            #[inline(always)]
            fn int(self) -> i128 { i128::from(self) }
            fn from_int(value: i128) -> Self {
                value.clamp(i128::from(<$t>::MIN), i128::from(<$t>::MAX)) as $t
            }
            fn from_float(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn is_nan(self) -> bool { false }
            fn put(self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_ne_bytes()); }
        }
    )* };
}
whole!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            const FLOAT: bool = true;

            fn values(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
                bytes.as_chunks::<{ size_of::<$t>() }>().0.iter().map(|b| <$t>::from_ne_bytes(*b))
            }
            #[inline(always)]
            fn float(self) -> f64 { f64::from(self) }
            fn int(self) -> i128 { self as i128 }
            fn from_int(value: i128) -> Self { value as $t }
            fn from_float(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn is_nan(self) -> bool { self != self }
            fn put(self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_ne_bytes()); }
        }
    )* };
}
float!(f32 f64);

impl Number for f16 {
    const SIZE: usize = 2;
    const FLOAT: bool = true;

    fn values(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        bytes.as_chunks::<2>().0.iter().map(|b| Self::from_ne_bytes(*b))
    }
    fn float(self) -> f64 {
        self.to_f64()
    }
    fn int(self) -> i128 {
        self.to_f64() as i128
    }
    fn from_int(value: i128) -> Self {
        Self::from_f64(value as f64)
    }
    fn from_float(value: f64) -> Self {
        Self::from_f64(value)
    }
    fn is_nan(self) -> bool {
        Self::is_nan(self)
    }
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_ne_bytes());
    }
}

/// The smallest int64 means not-a-time.
pub const NOT_A_TIME: i64 = i64::MIN;

/// `with_number!(dtype, T => body, else other)`: `body` with `T` as the dtype's [`Number`]; booleans are u8, times i64.
#[macro_export]
macro_rules! with_number {
    ($dtype:expr, $t:ident => $body:expr, else $other:expr) => {{
        use $crate::DType as D;
        macro_rules! run {
            ($number:ty) => {{
                type $t = $number;
                $body
            }};
        }
        match $dtype {
            D::Bool | D::UInt8 => run!(u8),
            D::Int8 => run!(i8),
            D::Int16 => run!(i16),
            D::Int32 => run!(i32),
            D::Int64 | D::DateTime64 { .. } | D::TimeDelta64 { .. } => run!(i64),
            D::UInt16 => run!(u16),
            D::UInt32 => run!(u32),
            D::UInt64 => run!(u64),
            D::Float16 => run!($crate::half::f16),
            D::Float32 => run!(f32),
            D::Float64 => run!(f64),
            _ => $other,
        }
    }};
}
