import type { Shown } from './array';
import { type ShownAxis, written } from './coordinates';

export function Matrix({ axes, lengths, values }: Shown) {
  const [rows, columns] = [lengths[0] ?? 1, lengths[1] ?? 1];
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Values">
      <table className="matrix">
        {lengths.length > 1 && (
          <thead>
            <tr>
              <th scope="col">{axes[0].label} \ {axes[1].label}</th>
              {Array.from({ length: columns }, (_, j) => <th key={j} scope="col">{head(axes[1], j)}</th>)}
            </tr>
          </thead>
        )}
        <tbody>
          {Array.from({ length: rows }, (_, i) => (
            <tr key={i}>
              {axes.length > 0 && <th scope="row">{head(axes[0], i)}</th>}
              {Array.from({ length: columns }, (_, j) => <td key={j}>{text(values[i * columns + j])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const head = ({ values, coordinate }: ShownAxis, index: number) => written(values[index], coordinate);

export function text(value: unknown): string {
  if (value === null || Number.isNaN(value)) return '–';
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(9)));
  if (typeof value === 'bigint' || typeof value === 'string') return String(value);
  return JSON.stringify(value);
}
