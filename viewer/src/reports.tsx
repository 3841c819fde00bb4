import { api, size, useJson } from './api';

interface Stored {
  bytes: number;
  bytes_stored: number;
  ratio: number | null;
  chunks: number[] | null;
  shards: number[] | null;
  codecs: { name: string; configuration: Record<string, unknown> }[];
  cells: number;
  missing: number;
  inline: number;
  native: number;
  linked: number;
  files: { name: string; chunks: number; bytes: number }[];
}

export function Storage({ file, path }: { file: string; path: string }) {
  const { value, error } = useJson<Stored>(api('storage', { file, path }));
  if (error) return <p role="alert" className="error">{error}</p>;
  if (!value) return <p role="status">Loading…</p>;
  const facts: [string, string][] = [
    ['in memory', size(value.bytes)],
    ['stored', `${size(value.bytes_stored)}${value.ratio ? ` (${value.ratio.toPrecision(3)} times smaller)` : ''}`],
    ['chunks', `${value.shards ? '' : `${value.cells.toLocaleString('en')} of `}${value.chunks?.join(' × ') ?? 'different shapes'}`],
    ...(value.shards ? [['shards', `${value.cells.toLocaleString('en')} of ${value.shards.join(' × ')}`] as [string, string]] : []),
    ['codecs', value.codecs.map((each) => `${each.name}${settings(each.configuration)}`).join(' → ')],
    ['missing', String(value.missing)],
    ['in the manifest', String(value.inline)],
    ['in the repository', String(value.native)],
    ['in linked files', String(value.linked)],
    ...value.files.map((each): [string, string] => [each.name, `${each.chunks} chunks, ${size(each.bytes)}`]),
  ];
  return <Facts title="Storage" facts={facts} />;
}

function settings(configuration: Record<string, unknown>): string {
  const parts = Object.entries(configuration).filter(([, value]) => typeof value !== 'object');
  return parts.length ? ` (${parts.map(([name, value]) => `${name} ${value}`).join(', ')})` : '';
}

interface Planned {
  requests: number;
  bytes_wanted: number;
  bytes_fetched: number;
  bytes_decoded: number;
  bytes_out: number;
  chunks: number;
  chunks_missing: number;
  chunks_cached: number;
  objects: { name: string; requests: number; bytes_fetched: number }[];
}

export function Plan({ file, path, selection }: { file: string; path: string; selection: string }) {
  const { value, error } = useJson<Planned>(api('plan', { file, path, selection }), 40);
  if (error) return <p role="alert" className="error">{error}</p>;
  if (!value) return <p role="status">Loading…</p>;
  const facts: [string, string][] = [
    ['selection', selection],
    ['requests', String(value.requests)],
    ['bytes wanted', size(value.bytes_wanted)],
    ['bytes fetched', size(value.bytes_fetched)],
    ['bytes decoded', size(value.bytes_decoded)],
    ['bytes out', size(value.bytes_out)],
    ['chunks', `${value.chunks} (${value.chunks_missing} missing, ${value.chunks_cached} cached)`],
    ...value.objects.map((each): [string, string] => [each.name, `${each.requests} requests, ${size(each.bytes_fetched)}`]),
  ];
  return <Facts title="What this slice reads" facts={facts} />;
}

function Facts({ title, facts }: { title: string; facts: [string, string][] }) {
  return (
    <table className="facts">
      <caption>{title}</caption>
      <tbody>
        {facts.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
