// The views of an array, as tabs.
import { lazy, type ReactNode, Suspense } from 'react';

import { api, type ArrayNode, size, useSlice } from './api';
import { shownAxis, type ShownAxis, written } from './coordinates';
import { Matrix } from './matrix';
import { Plan, Storage } from './reports';
import { Slicer } from './slicer';
import { type Axis, format, isShown, parse, sampled } from './slicing';
import type { State } from './state';

const Line = lazy(() => import('./line'));
const Heat = lazy(() => import('./heat'));
const Trend = lazy(() => import('./trend'));

const EXACT = 20_000; // samples that a line shows one by one
const SHOWN: Record<string, number> = { line: 1, heat: 2 };
const TITLES: Record<string, string> = {
  trend: 'Trend', line: 'Line', heat: 'Heat map', matrix: 'Values', plan: 'Read plan', storage: 'Storage',
};

interface Props {
  file: string;
  node: ArrayNode;
  state: State;
  change: (part: Partial<State>, replace?: boolean) => void;
}

// The first view is the one that shows most.
function views(node: ArrayNode, isNumber: boolean): string[] {
  const rank = node.shape.length;
  const empty = node.shape.some((length) => length === 0);
  const found: string[] = [];
  if (isNumber && !empty && rank > 1) found.push('heat');
  if (isNumber && !empty && rank > 0) found.push('line');
  if (isNumber && !empty && rank === 1 && Object.keys(node.fields).length === 0) {
    found.splice(node.shape[0] > EXACT ? 0 : 1, 0, 'trend');
  }
  return [...found, 'matrix', 'plan', 'storage'];
}

export function ArrayView({ file, node, state, change }: Props) {
  const fields = Object.keys(node.fields);
  const [slice, chosen] = state.slice.split(';');
  const field = fields.includes(chosen) ? chosen : fields.find((name) => node.fields[name] !== 'json') ?? '';
  const wire = field ? node.fields[field] : node.wire;
  const tabs = views(node, wire !== 'json');
  const view = tabs.includes(state.view) ? state.view : tabs[0];
  const count = Math.min(SHOWN[view] ?? Math.min(slice.split(':').length - 1 || 2, 2), node.shape.length);
  const axes = parse(slice, node, count);
  const set = (next: Axis[], name = field, replace = false) =>
    change({ slice: `${format(next, node)}${name && fields.length ? `;${name}` : ''}`, view }, replace);
  const selection = sampled(axes);
  let shown: ReactNode;
  if (view === 'trend') shown = <Trend file={file} node={node} />;
  else if (view === 'plan') shown = <Plan file={file} path={node.path} selection={selection.selection} />;
  else if (view === 'storage') shown = <Storage file={file} path={node.path} />;
  else shown = <Plot key={view} {...{ file, node, axes, view, field, wire }} />;
  return (
    <>
      <p className="quiet">
        {node.dtype} · {node.shape.join(' × ') || 'scalar'} · {size(node.nbytes)}
        {node.chunks && ` · chunks ${node.chunks.join(' × ')}`}
      </p>
      <div role="group" aria-label="Views" className="tabs">
        {tabs.map((each) => (
          <button key={each} type="button" aria-pressed={each === view} onClick={() => change({ view: each })}>
            {TITLES[each]}
          </button>
        ))}
      </div>
      {fields.length > 0 && (
        <label>
          Field{' '}
          <select value={field} onChange={(event) => set(axes, event.target.value)}>
            {fields.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      {axes.length > 0 && !['trend', 'storage'].includes(view) && (
        <Slicer node={node} axes={axes} onChange={(next, replace) => set(next, field, replace)} />
      )}
      <Suspense fallback={<p role="status">Loading…</p>}>{shown}</Suspense>
    </>
  );
}

interface PlotProps {
  file: string;
  node: ArrayNode;
  axes: Axis[];
  view: string;
  field: string;
  wire: string;
}

function Plot({ file, node, axes, view, field, wire }: PlotProps) {
  const isMatrix = view === 'matrix';
  const wanted = isMatrix ? axes.map(windowed) : axes;
  const { selection, steps, lengths } = sampled(wanted, view === 'line' ? EXACT : undefined);
  const { value, error, isOld } = useSlice(
    api('values', { file, path: node.path, selection, ...(field ? { field } : {}) }),
    api('axes', { file, path: node.path, selection }),
    wire,
    (values, coordinates) => {
      const name = (number: number) => node.dims[number] ?? `axis ${number}`;
      const shown = wanted.flatMap((axis, number) => (isShown(axis) ? [{ axis, number }] : []));
      const fixed = coordinates.flatMap((each, number) =>
        each && !isShown(wanted[number]) ? [`${name(number)} ${written(each.values[0], each)} ${each.units ?? ''}`.trim()] : [],
      );
      const axes = shown.map(({ axis, number }, i) => shownAxis(name(number), axis, steps[i], lengths[i], coordinates[number]));
      return { values, axes, lengths, fixed };
    },
  );
  if (error) return <p role="alert" className="error">{error}</p>;
  if (!value) return <p role="status">Loading…</p>;
  const rows = { ...value, label: [field || node.name, field ? '' : node.units].filter(Boolean).join(' / ') };
  return (
    <figure aria-busy={isOld} data-selection={selection}>
      {isMatrix && <Matrix {...rows} />}
      {view === 'line' && <Line {...rows} />}
      {view === 'heat' && <Heat {...rows} />}
      <figcaption className="quiet">
        {value.fixed.length > 0 && `At ${value.fixed.join(', ')}. `}
        {!node.is_physical && 'Stored numbers: the attributes that scale them are not numbers. '}
        {steps.some((step) => step > 1) && `One of ${steps.join(' × ')} elements is shown. `}
        {isMatrix && axes.some((axis, number) => axis !== wanted[number]) && 'The first rows and columns; choose a range for others. '}
        {node.dtype.startsWith('complex') && 'The modulus is shown.'}
      </figcaption>
    </figure>
  );
}

const CELLS = 60;

function windowed(axis: Axis): Axis {
  return isShown(axis) && axis.to - axis.from > CELLS ? { from: axis.from, to: axis.from + CELLS } : axis;
}

export interface Shown {
  axes: ShownAxis[];
  lengths: number[];
  values: ArrayLike<unknown>;
  label: string;
}
