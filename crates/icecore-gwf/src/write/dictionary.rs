//! Classes of structures and their fields: the FrSH and FrSE structures before the first of each class.

/// A class: number of the specification, name, and fields as `name:type`.
pub(crate) struct Class {
    pub number: u8,
    pub name: &'static str,
    pub comment: &'static str,
    pub fields: &'static str,
}

pub(crate) const SH: u8 = 1;
pub(crate) const SE: u8 = 2;
pub(crate) const FRAME_H: u8 = 3;
pub(crate) const ADC: u8 = 4;
pub(crate) const END_OF_FILE: u8 = 6;
pub(crate) const END_OF_FRAME: u8 = 7;
pub(crate) const HISTORY: u8 = 9;
pub(crate) const PROC: u8 = 11;
pub(crate) const RAW: u8 = 12;
pub(crate) const SIM: u8 = 14;
pub(crate) const TOC: u8 = 19;
pub(crate) const VECT: u8 = 20;

/// Abbreviations of types: `P(X)` is `PTR_STRUCT(X *)`.
pub(crate) fn type_name(short: &str) -> String {
    let plain = |s: &str| match s {
        "S" => "STRING".to_string(),
        "i2" => "INT_2S".to_string(),
        "u2" => "INT_2U".to_string(),
        "i4" => "INT_4S".to_string(),
        "u4" => "INT_4U".to_string(),
        "u8" => "INT_8U".to_string(),
        "f4" => "REAL_4".to_string(),
        "f8" => "REAL_8".to_string(),
        other => other.to_string(),
    };
    if let Some(class) = short.strip_prefix("P(").and_then(|s| s.strip_suffix(')')) {
        return format!("PTR_STRUCT({class} *)");
    }
    match short.split_once('[') {
        Some((base, rest)) => format!("{}[{rest}", plain(base)),
        None => plain(short),
    }
}

/// The classes that are written.
pub(crate) const CLASSES: &[Class] = &[
    Class {
        number: FRAME_H,
        name: "FrameH",
        comment: "Frame header",
        fields: "name:S run:i4 frame:u4 dataQuality:u4 GTimeS:u4 GTimeN:u4 ULeapS:u2 dt:f8 type:P(FrVect) \
                 user:P(FrVect) detectSim:P(FrDetector) detectProc:P(FrDetector) history:P(FrHistory) \
                 rawData:P(FrRawData) procData:P(FrProcData) simData:P(FrSimData) event:P(FrEvent) \
                 simEvent:P(FrSimEvent) summaryData:P(FrSummary) auxData:P(FrVect) auxTable:P(FrTable) chkSum:u4",
    },
    Class {
        number: HISTORY,
        name: "FrHistory",
        comment: "History of processing",
        fields: "name:S time:u4 comment:S next:P(FrHistory) chkSum:u4",
    },
    Class {
        number: RAW,
        name: "FrRawData",
        comment: "Raw data",
        fields: "name:S firstSer:P(FrSerData) firstADC:P(FrAdcData) firstTable:P(FrTable) logMsg:P(FrMsg) \
                 more:P(FrVect) chkSum:u4",
    },
    Class {
        number: ADC,
        name: "FrAdcData",
        comment: "Data of a converter",
        fields: "name:S comment:S channelGroup:u4 channelNumber:u4 nBits:u4 bias:f4 slope:f4 units:S sampleRate:f8 \
                 timeOffset:f8 fShift:f8 phase:f4 dataValid:u2 data:P(FrVect) aux:P(FrVect) next:P(FrAdcData) chkSum:u4",
    },
    Class {
        number: PROC,
        name: "FrProcData",
        comment: "Processed data",
        fields: "name:S comment:S type:u2 subType:u2 timeOffset:f8 tRange:f8 fShift:f8 phase:f4 fRange:f8 BW:f8 \
                 nAuxParam:u2 auxParam:f8[nAuxParam] auxParamNames:S[nAuxParam] data:P(FrVect) aux:P(FrVect) \
                 table:P(FrTable) history:P(FrHistory) next:P(FrProcData) chkSum:u4",
    },
    Class {
        number: SIM,
        name: "FrSimData",
        comment: "Simulated data",
        fields: "name:S comment:S sampleRate:f8 timeOffset:f8 fShift:f8 phase:f4 data:P(FrVect) input:P(FrVect) \
                 table:P(FrTable) next:P(FrSimData) chkSum:u4",
    },
    Class {
        number: VECT,
        name: "FrVect",
        comment: "Vector",
        fields: "name:S compress:u2 type:u2 nData:u8 nBytes:u8 data:CHAR[nBytes] nDim:u4 nx:u8[nDim] dx:f8[nDim] \
                 startX:f8[nDim] unitX:S[nDim] unitY:S next:P(FrVect) chkSum:u4",
    },
    Class {
        number: END_OF_FRAME,
        name: "FrEndOfFrame",
        comment: "End of frame",
        fields: "run:i4 frame:u4 GTimeS:u4 GTimeN:u4 chkSum:u4",
    },
    Class {
        number: TOC,
        name: "FrTOC",
        comment: "Table of contents",
        fields: "ULeapS:i2 nFrame:u4 dataQuality:u4[nFrame] GTimeS:u4[nFrame] GTimeN:u4[nFrame] dt:f8[nFrame] \
                 runs:i4[nFrame] frame:u4[nFrame] positionH:u8[nFrame] nFirstADC:u8[nFrame] nFirstSer:u8[nFrame] \
                 nFirstTable:u8[nFrame] nFirstMsg:u8[nFrame] nSH:u4 SHid:u2[nSH] SHname:S[nSH] nDetector:u4 \
                 nameDetector:S[nDetector] positionDetector:u8[nDetector] nStatType:u4 nameStat:S[nStatType] \
                 detector:S[nStatType] nStatInstance:u4[nStatType] nTotalStat:u4 tStart:u4[nTotalStat] \
                 tEnd:u4[nTotalStat] version:u4[nTotalStat] positionStat:u8[nTotalStat] nADC:u4 name:S[nADC] \
                 channelID:u4[nADC] groupID:u4[nADC] positionADC:u8[nADC][nFrame] nProc:u4 nameProc:S[nProc] \
                 positionProc:u8[nProc][nFrame] nSim:u4 nameSim:S[nSim] positionSim:u8[nSim][nFrame] nSer:u4 \
                 nameSer:S[nSer] positionSer:u8[nSer][nFrame] nSummary:u4 nameSum:S[nSummary] \
                 positionSum:u8[nSummary][nFrame] nEventType:u4 nameEvent:S[nEventType] nEvent:u4[nEventType] \
                 nTotalEvent:u4 GTimeSEvent:u4[nTotalEvent] GTimeNEvent:u4[nTotalEvent] \
                 amplitudeEvent:f4[nTotalEvent] positionEvent:u8[nTotalEvent] nSimEventType:u4 \
                 nameSimEvent:S[nSimEventType] nSimEvent:u4[nSimEventType] nTotalSEvent:u4 \
                 GTimeSSim:u4[nTotalSEvent] GTimeNSim:u4[nTotalSEvent] amplitudeSimEvent:f4[nTotalSEvent] \
                 positionSimEvent:u8[nTotalSEvent] chkSum:u4",
    },
    Class {
        number: END_OF_FILE,
        name: "FrEndOfFile",
        comment: "End of file",
        fields: "nFrames:u4 nBytes:u8 seekTOC:u8 chkSumFrHeader:u4 chkSum:u4 chkSumFile:u4",
    },
];
