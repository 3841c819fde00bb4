// What is shown is in the URL, so that a view can be shared.
import { useEffect, useState } from 'react';

export interface State {
  repo: string;
  version: string;
  path: string;
  slice: string;
  view: string;
}

const NAMES = ['repo', 'version', 'path', 'slice', 'view'] as const;

function read(): State {
  const query = new URLSearchParams(location.search);
  const at = (name: string) => query.get(name) ?? '';
  return { repo: at('repo'), version: at('version'), path: at('path') || '/', slice: at('slice'), view: at('view') };
}

function address(state: State): string {
  const query = NAMES.filter((name) => state[name] && !(name === 'path' && state.path === '/')).map(
    // slashes, commas and colons may be in a query, and are read more easily as they are
    (name) => `${name}=${encodeURIComponent(state[name]).replace(/%2F/g, '/').replace(/%2C/g, ',').replace(/%3A/g, ':')}`,
  );
  return query.length ? `?${query.join('&')}` : '.';
}

export function useUrlState(): [State, (change: Partial<State>, replace?: boolean) => void] {
  const [state, setState] = useState(read);
  useEffect(() => {
    const back = () => setState(read());
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);
  const change = (part: Partial<State>, replace = false) =>
    setState((old) => {
      const next = { ...old, ...part };
      if (address(next) !== address(old)) history[replace ? 'replaceState' : 'pushState'](null, '', address(next));
      return next;
    });
  return [state, change];
}
