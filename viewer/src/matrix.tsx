import type { Shown } from './array';

export function Matrix({ axes, lengths, values }: Shown) {
  const rows = lengths.length > 1 ? lengths[0] : lengths.length === 1 ? lengths[0] : 1;
  const columns = lengths.length > 1 ? lengths[1] : 1;
  const isTable = lengths.length > 1;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Values">
      <table className="matrix">
        {isTable && (
          <thead>
            <tr>
              <th scope="col">{axes[0].name} \ {axes[1].name}</th>
              {Array.from({ length: columns }, (_, j) => <th key={j} scope="col">{axes[1].from + j}</th>)}
            </tr>
          </thead>
        )}
        <tbody>
          {Array.from({ length: rows }, (_, i) => (
            <tr key={i}>
              {axes.length > 0 && <th scope="row">{axes[0].from + i}</th>}
              {Array.from({ length: columns }, (_, j) => <td key={j}>{text(values[i * columns + j])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function text(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(9)));
  if (typeof value === 'bigint' || typeof value === 'string') return String(value);
  return JSON.stringify(value);
}
