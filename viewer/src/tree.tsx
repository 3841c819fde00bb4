// The tree of a version: groups are asked for their members when they are opened.
import { type KeyboardEvent, useState } from 'react';

import { api, type Fetched, type Member, useJson } from './api';

interface Props {
  file: string;
  top: Fetched<{ children: Member[] }>; // members of the root, which the page has asked for
  selected: string;
  onSelect: (path: string) => void;
}

export function Tree({ file, top, selected, onSelect }: Props) {
  return (
    <ul role="tree" aria-label="Groups and arrays" onKeyDown={walk}>
      <Item file={file} top={top} member={{ name: '/', path: '/', kind: 'group' }} level={1} selected={selected} onSelect={onSelect} />
    </ul>
  );
}

// Arrow keys as in every tree: up, down, open, close.
function walk(event: KeyboardEvent<HTMLElement>) {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')];
  const item = (event.target as HTMLElement).closest<HTMLElement>('[role=treeitem]');
  if (!item) return;
  const at = items.indexOf(item);
  const open = item.getAttribute('aria-expanded');
  let next: HTMLElement | undefined;
  if (event.key === 'ArrowDown') next = items[at + 1];
  else if (event.key === 'ArrowUp') next = items[at - 1];
  else if (event.key === 'Home') next = items[0];
  else if (event.key === 'End') next = items.at(-1);
  else if (event.key === 'ArrowRight' && open === 'false') item.click();
  else if (event.key === 'ArrowRight') next = items[at + 1];
  else if (event.key === 'ArrowLeft' && open === 'true') item.querySelector<HTMLElement>('.mark')?.click();
  else if (event.key === 'ArrowLeft') next = above(items.slice(0, at), Number(item.ariaLevel));
  else if (event.key === 'Enter' || event.key === ' ') item.click();
  else return;
  event.preventDefault();
  next?.focus();
}

const above = (items: HTMLElement[], level: number) => items.findLast((each) => Number(each.ariaLevel) < level);

interface ItemProps extends Omit<Props, 'top'> {
  top?: Props['top'];
  member: Member;
  level: number;
}

function Item({ file, top, member, level, selected, onSelect }: ItemProps) {
  const inside = member.path === '/' || selected.startsWith(`${member.path}/`);
  const [isOpen, setOpen] = useState(inside);
  const isGroup = member.kind === 'group';
  const asked = useJson<{ children: Member[] }>(!top && isGroup && isOpen ? api('children', { file, path: member.path }) : null);
  const { value, error } = top ?? asked;
  const isSelected = selected === member.path;
  return (
    <li role="none">
      <div
        role="treeitem" aria-level={level} aria-selected={isSelected} aria-expanded={isGroup ? isOpen : undefined}
        tabIndex={isSelected || level === 1 ? 0 : -1} className="row" style={{ paddingInlineStart: `${level * 0.9}em` }}
        onClick={() => {
          onSelect(member.path);
          if (isGroup) setOpen(true);
        }}
      >
        <span
          className="mark" aria-hidden="true"
          onClick={(event) => {
            if (!isGroup) return;
            event.stopPropagation();
            setOpen(!isOpen);
          }}
        >
          {isGroup ? (isOpen ? '▾' : '▸') : '·'}
        </span>
        <span className="name">{member.name}</span>
        {isGroup && <span className="hidden"> group</span>}
        {member.shape && <small>{member.shape.join(' × ') || 'scalar'}</small>}
      </div>
      {isGroup && isOpen && value && value.children.length > 0 && (
        <ul role="none">
          {value.children.map((each) => (
            <Item key={each.path} file={file} member={each} level={level + 1} selected={selected} onSelect={onSelect} />
          ))}
        </ul>
      )}
      {error && isOpen && <p role="alert" className="error">{error}</p>}
    </li>
  );
}
