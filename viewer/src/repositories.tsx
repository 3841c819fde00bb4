import { useJson } from './api';

interface Domain {
  name: string;
  class: 'domain' | 'folder';
}

interface Props {
  folder: string;
  onFolder: (path: string) => void;
  onOpen: (repo: string) => void;
}

export function Repositories({ folder, onFolder, onOpen }: Props) {
  const place = folder.endsWith('/') ? folder : `${folder}/`;
  const { value, error } = useJson<{ domains: Domain[] }>(`../domains?domain=${encodeURIComponent(place)}`);
  if (error) return <p role="alert" className="error">{error}</p>;
  if (!value) return <p role="status">Loading…</p>;
  return (
    <section aria-label="Repositories">
      <h2>{folder === '/' ? 'Repositories' : folder}</h2>
      {folder !== '/' && <button type="button" onClick={() => onFolder('/')}>all repositories</button>}
      <ul className="list">
        {value.domains.map((each) => {
          const name = each.name.replace(/^\//, '');
          const open = () => (each.class === 'folder' ? onFolder(each.name) : onOpen(name));
          return (
            <li key={each.name}>
              <a href={`?repo=${encodeURIComponent(name)}`} onClick={(event) => { event.preventDefault(); open(); }}>
                {name}{each.class === 'folder' ? '/' : ''}
              </a>
            </li>
          );
        })}
      </ul>
      {value.domains.length === 0 && <p>Nothing is served here.</p>}
    </section>
  );
}
