// uPlot with the page's colours and width.
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { date, DAY } from './coordinates';

interface Props {
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  bands?: uPlot.Band[];
  x: string;
  y: string;
  label: string;
  isDate?: boolean; // x is seconds since 1970, UTC
  onZoom?: (from: number, to: number) => void;
}

export function Plot({ data, series, bands, x, y, label, isDate, onZoom }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  useEffect(() => {
    const at = place.current;
    if (!at) return undefined;
    const ink = getComputedStyle(at).color;
    const grid = { stroke: getComputedStyle(at).getPropertyValue('--line'), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid };
    const dated = { space: 150, values: (_: uPlot, at: number[]) => at.map((each) => date(each / DAY)) };
    const first = isDate ? { ...series[0], value: (_: uPlot, each: number | null) => (each === null ? '–' : date(each / DAY)) } : series[0];
    const plot = new uPlot(
      {
        width: at.clientWidth, height: 380, series: [first, ...series.slice(1)], bands, scales: { x: { time: isDate ?? false } },
        tzDate: (at_) => uPlot.tzDate(new Date(at_ * 1000), 'Etc/UTC'),
        axes: [{ ...axis, label: x, space: 90, ...(isDate ? dated : {}) }, { ...axis, label: y, size: 80 }],
        cursor: { drag: { x: true, y: false, setScale: !onZoom } },
        hooks: {
          setSelect: [(self) => {
            if (self.select.width < 3) return;
            const [from, to] = [self.select.left, self.select.left + self.select.width].map((each) => self.posToVal(each, 'x'));
            zoom.current?.(from, to);
          }],
        },
      },
      data,
      at,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height: 380 }));
    resized.observe(at);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [data]);
  return <div ref={place} className="plot" role="img" aria-label={label} />;
}
