//! Reader and writer of gravitational-wave frame files (GWF, LIGO-T970130), versions 4, 6 and 8, in either byte order.
//!
//! [`index`] lists frames, channels and the location of every data vector without decoding it; [`decode_vect`] turns the
//! bytes of one `FrVect` structure into elements in native byte order; [`verify`] checks the stored
//! checksums. [`FrameWriter`] writes version 8.

mod channel;
mod checksum;
mod cursor;
mod decode;
mod end;
mod format;
mod head;
mod index;
mod problem;
mod scan;
mod toc;
mod toc_events;
mod vect;
mod vect_type;
mod verify;
mod window;
mod write;
mod zero_suppress;

pub use checksum::Cksum;
pub use cursor::Pointer;
pub use decode::{VectShape, decode_vect, vect_shape};
pub use format::{ByteOrder, Format};
pub use index::{Channel, FrameFile, Piece, Role, index};
pub use problem::Problem;
pub use toc::{Frame, Kind};
pub use vect::Vect;
pub use vect_type::VectType;
pub use verify::{verify, verify_at};
pub use write::{ChannelFields, Compress, Counts, EncodedVect, FrameFields, FrameWriter, History, encode_vect};
