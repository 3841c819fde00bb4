import { lazy, Suspense } from 'react';

import { api, type ArrayNode, type GroupNode, useJson } from './api';
import { Attributes } from './attributes';
import { ArrayView } from './array';
import type { State } from './state';

const PointMap = lazy(() => import('./map'));

interface Props {
  file: string;
  state: State;
  change: (part: Partial<State>, replace?: boolean) => void;
  onOpen: (path: string) => void;
}

export function Node({ file, state, change }: Props) {
  const { value, error } = useJson<ArrayNode | GroupNode>(api('node', { file, path: state.path }));
  if (error) return <p role="alert" className="error">{error}</p>;
  if (!value) return <p role="status">Loading…</p>;
  return (
    <>
      <h2>{value.path}</h2>
      {value.kind === 'array' ? (
        <ArrayView file={file} node={value as ArrayNode} state={state} change={change} />
      ) : (
        value.coordinates && (
          <Suspense fallback={<p role="status">Loading…</p>}>
            <PointMap file={file} path={value.path} coordinates={value.coordinates} />
          </Suspense>
        )
      )}
      <Attributes attrs={value.attrs} />
    </>
  );
}
