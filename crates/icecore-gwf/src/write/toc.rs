//! The table of contents of a file that is written.

use icecore_grid::Result;

use super::body::Body;
use super::dictionary::CLASSES;
use super::frame::FrameFields;
use crate::toc::Kind;

/// Where everything is: frames and the structure of each channel in each frame.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub frames: Vec<(FrameFields, u64, u64)>,
    entries: [Names; 3],
}

#[derive(Debug, Default)]
struct Names {
    order: Vec<(String, Vec<u64>)>,
    index: std::collections::HashMap<String, usize>,
}

fn slot(kind: Kind) -> usize {
    match kind {
        Kind::Adc => 0,
        Kind::Proc => 1,
        Kind::Sim => 2,
    }
}

impl Places {
    pub fn frame(&mut self, fields: FrameFields, at: u64) {
        self.frames.push((fields, at, 0));
    }

    /// Records a channel of the last frame; false if the frame has it already.
    pub fn channel(&mut self, kind: Kind, name: &str, at: u64) -> bool {
        let Some(frame) = self.frames.len().checked_sub(1) else { return false };
        if kind == Kind::Adc {
            self.frames.iter_mut().last().into_iter().filter(|f| f.2 == 0).for_each(|f| f.2 = at);
        }
        let Some(names) = self.entries.get_mut(slot(kind)) else { return false };
        let next = names.order.len();
        let i = *names.index.entry(name.to_string()).or_insert(next);
        if i == next {
            names.order.push((name.to_string(), Vec::new()));
        }
        let Some((_, places)) = names.order.get_mut(i) else { return false };
        places.resize(frame.max(places.len()), 0);
        if places.len() > frame {
            return false;
        }
        places.push(at);
        true
    }

    /// Fills the body of FrTOC.
    pub fn write(&self, body: &mut Body) -> Result<()> {
        let n = self.frames.len();
        body.u16(self.frames.first().map_or(0, |f| f.0.leap)).u32(n as u32);
        self.each(body, |b, (f, ..)| {
            b.u32(f.quality);
        });
        self.each(body, |b, (f, ..)| {
            b.u32(f.seconds());
        });
        self.each(body, |b, (f, ..)| {
            b.u32(f.nanoseconds());
        });
        self.each(body, |b, (f, ..)| {
            b.f64(f.dt());
        });
        self.each(body, |b, (f, ..)| {
            b.i32(f.run);
        });
        self.each(body, |b, (f, ..)| {
            b.u32(f.number);
        });
        self.each(body, |b, (_, at, _)| {
            b.u64(*at);
        });
        self.each(body, |b, (.., adc)| {
            b.u64(*adc);
        });
        body.put(&vec![0; 3 * 8 * n]); // first FrSerData, FrTable, FrMsg
        body.u32(CLASSES.len() as u32);
        CLASSES.iter().for_each(|c| {
            body.u16(u16::from(c.number));
        });
        CLASSES.iter().try_for_each(|c| body.string(c.name).map(|_| ()))?;
        body.put(&[0; 12]); // detectors, types of static data, static data
        for (kind, names) in self.entries.iter().enumerate() {
            body.u32(names.order.len() as u32);
            names.order.iter().try_for_each(|(name, _)| body.string(name).map(|_| ()))?;
            if kind == 0 {
                (0..names.order.len()).for_each(|i| {
                    body.u32(i as u32);
                });
                body.put(&vec![0; 4 * names.order.len()]);
            }
            for (_, places) in &names.order {
                (0..n).for_each(|i| {
                    body.u64(places.get(i).copied().unwrap_or(0));
                });
            }
        }
        body.put(&[0; 24]); // FrSerData, FrSummary, events and simulated events with their totals
        Ok(())
    }

    fn each(&self, body: &mut Body, put: impl Fn(&mut Body, &(FrameFields, u64, u64))) {
        self.frames.iter().for_each(|frame| put(body, frame));
    }
}
