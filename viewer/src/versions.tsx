import { api, useJson } from './api';

interface Known {
  shown: string;
  branches: Record<string, string>;
  tags: Record<string, string>;
  commits: { id: string; message: string; time: string }[];
}

interface Props {
  repo: string;
  version: string;
  onVersion: (version: string) => void;
}

export function Versions({ repo, version, onVersion }: Props) {
  const { value, error } = useJson<Known>(api('versions', { file: repo }));
  if (error) return null; // the page says it
  const commits = value?.commits ?? [];
  const named = [...Object.keys(value?.branches ?? {}), ...Object.keys(value?.tags ?? {})];
  const isKnown = !version || named.includes(version) || commits.some((each) => each.id === version);
  return (
    <label className="version">
      Version{' '}
      <select value={version} onChange={(event) => onVersion(event.target.value)}>
        <option value="">newest</option>
        {!isKnown && <option value={version}>{version}</option>}
        <optgroup label="Branches">
          {Object.keys(value?.branches ?? {}).map((name) => <option key={name} value={name}>{name}</option>)}
        </optgroup>
        {Object.keys(value?.tags ?? {}).length > 0 && (
          <optgroup label="Tags">
            {Object.keys(value?.tags ?? {}).map((name) => <option key={name} value={name}>{name}</option>)}
          </optgroup>
        )}
        <optgroup label="Commits">
          {commits.map((each) => (
            <option key={each.id} value={each.id}>{each.time.slice(0, 16).replace('T', ' ')} {each.message.slice(0, 60)}</option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
