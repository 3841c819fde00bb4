import { api, type Member, useJson } from './api';
import { Node } from './node';
import { Repositories } from './repositories';
import { useUrlState } from './state';
import { Tree } from './tree';
import { Versions } from './versions';

export function App() {
  const [state, change] = useUrlState();
  const file = state.version ? `${state.repo}@${state.version}` : state.repo;
  const top = useJson<{ children: Member[] }>(state.repo ? api('children', { file, path: '/' }) : null);
  if (!state.repo) {
    return (
      <main className="start">
        <h1>icecore</h1>
        <Repositories folder={state.path} onFolder={(path) => change({ path })} onOpen={(repo) => change({ repo, path: '/' })} />
      </main>
    );
  }
  const isGone = top.error !== undefined && !top.isOld; // then the parts of the page would all say the same
  const open = (path: string) => change({ path, slice: '', view: '' });
  return (
    <div className="frame">
      <header>
        <a href="." onClick={(event) => { event.preventDefault(); change({ repo: '', version: '', path: '/', slice: '', view: '' }); }}>icecore</a>
        <h1>{state.repo}</h1>
        <Versions key={state.repo} repo={state.repo} version={state.version} onVersion={(version) => change({ version })} />
      </header>
      {!isGone && (
        <nav aria-label="Contents">
          <Tree key={file} file={file} top={top} selected={state.path} onSelect={open} />
        </nav>
      )}
      <main>
        {isGone ? (
          <p role="alert" className="error">{top.error}</p>
        ) : (
          <Node key={`${file}:${state.path}`} file={file} state={state} change={change} onOpen={open} />
        )}
      </main>
    </div>
  );
}
