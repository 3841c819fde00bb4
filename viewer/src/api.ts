// Requests to the service. A request that is no longer needed is cancelled.
import { useEffect, useState } from 'react';

import type { Coordinate } from './coordinates';

export interface Member {
  name: string;
  path: string;
  kind: 'group' | 'array';
  shape?: number[];
  dtype?: string;
}

export interface ArrayNode extends Member {
  attrs: Record<string, unknown>;
  shape: number[];
  dtype: string;
  dims: (string | null)[];
  chunks: number[] | null;
  itemsize: number;
  fields: Record<string, string>;
  wire: string;
  units: string | null; // of the values of the page
  is_physical: boolean; // or stored numbers, where attributes do not say what they mean
  nbytes: number;
  coordinates?: null;
}

export interface GroupNode extends Member {
  attrs: Record<string, unknown>;
  coordinates: { x: string; y: string; rows: number; others: string[] } | null;
}

export interface Fetched<T> {
  value?: T;
  error?: string;
  isOld: boolean;
}

export type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;
export type Values = Numbers | BigInt64Array | BigUint64Array | unknown[];

const ARRAYS = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array,
  u8: BigUint64Array, i8: BigInt64Array, f4: Float32Array, f8: Float64Array,
};

export function api(name: string, params: Record<string, string | number>): string {
  const query = new URLSearchParams(Object.entries(params).map(([key, value]) => [key, String(value)]));
  return `api/${name}?${query}`;
}

async function answered(url: string, signal: AbortSignal): Promise<Response> {
  const reply = await fetch(url, { signal, headers: { accept: 'application/json, application/octet-stream' } });
  if (reply.ok) return reply;
  const body = await reply.json().catch(() => ({}));
  throw new Error([body.message ?? `${reply.status} ${reply.statusText}`, body.hint].filter(Boolean).join('. '));
}

const asJson = async (reply: Response) => reply.json();

// The last value stays while the next one is on its way.
function useReply<T>(url: string | null, load: (signal: AbortSignal) => Promise<T>, delay = 0): Fetched<T> {
  const [state, setState] = useState<{ url: string | null; value?: T; error?: string }>({ url: null });
  useEffect(() => {
    if (url === null) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => {
      load(control.signal)
        .then((value) => setState({ url, value }))
        .catch((error: Error) => {
          if (!control.signal.aborted) setState({ url, error: error.message });
        });
    }, delay);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [url]);
  return { value: state.value, error: state.error, isOld: state.url !== url };
}

export function useJson<T>(url: string | null, delay = 0): Fetched<T> {
  return useReply<T>(url, (signal) => answered(url ?? '', signal).then(asJson), delay);
}

// Values of a slice, and what `finish` makes of them with the coordinates of its axes.
export function useSlice<T>(url: string, axes: string, wire: string, finish: (values: Values, axes: (Coordinate | null)[]) => T): Fetched<T> {
  return useReply<T>(
    url,
    async (signal) => {
      const [values, coordinates] = await Promise.all([
        answered(url, signal).then(async (reply): Promise<Values> => {
          if (!reply.headers.get('content-type')?.startsWith('application/octet')) return reply.json();
          return new ARRAYS[wire as keyof typeof ARRAYS](await reply.arrayBuffer());
        }),
        answered(axes, signal).then(asJson),
      ]);
      return finish(values, coordinates.axes);
    },
    40,
  );
}

export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** power).toLocaleString('en', { maximumSignificantDigits: 3 })} ${units[power]}`;
}
