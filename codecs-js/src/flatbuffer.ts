// Tables of FlatBuffers, for reading.
import { corrupt } from './bytes.js';

export class Table {
  private constructor(private readonly data: DataView, private readonly at: number) {}

  static root(bytes: Uint8Array): Table {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return new Table(data, data.getUint32(0, true));
  }

  private field(index: number): number {
    const table = this.at - this.data.getInt32(this.at, true);
    const entry = 4 + 2 * index;
    if (entry >= this.data.getUint16(table, true)) return 0;
    const offset = this.data.getUint16(table + entry, true);
    return offset ? this.at + offset : 0;
  }

  private target(index: number): number {
    const at = this.field(index);
    return at ? at + this.data.getUint32(at, true) : 0;
  }

  u8(index: number, absent = 0): number {
    const at = this.field(index);
    return at ? this.data.getUint8(at) : absent;
  }

  u32(index: number): number {
    const at = this.field(index);
    return at ? this.data.getUint32(at, true) : 0;
  }

  u64(index: number): number {
    const at = this.field(index);
    return at ? Number(this.data.getBigUint64(at, true)) : 0;
  }

  /** The bytes of a struct. */
  struct(index: number, size: number): Uint8Array | null {
    const at = this.field(index);
    return at ? this.slice(at, size) : null;
  }

  bytes(index: number): Uint8Array | null {
    const at = this.target(index);
    return at ? this.slice(at + 4, this.data.getUint32(at, true)) : null;
  }

  text(index: number): string | null {
    const found = this.bytes(index);
    return found && new TextDecoder().decode(found);
  }

  table(index: number): Table | null {
    const at = this.target(index);
    return at ? new Table(this.data, at) : null;
  }

  length(index: number): number {
    const at = this.target(index);
    return at ? this.data.getUint32(at, true) : 0;
  }

  item(index: number, i: number): Table {
    const at = this.target(index) + 4 + 4 * i;
    return new Table(this.data, at + this.data.getUint32(at, true));
  }

  items(index: number): Table[] {
    return Array.from({ length: this.length(index) }, (_, i) => this.item(index, i));
  }

  /** A vector of integers of 32 bits, or of structs that consist of them. */
  words(index: number, each = 1): number[] {
    const at = this.target(index);
    return Array.from({ length: this.length(index) * each }, (_, i) => this.data.getUint32(at + 4 + 4 * i, true));
  }

  private slice(at: number, size: number): Uint8Array {
    if (at + size > this.data.byteLength) corrupt('a FlatBuffer is cut off');
    return new Uint8Array(this.data.buffer, this.data.byteOffset + at, size);
  }
}
