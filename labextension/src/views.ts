/** The widgets, as anywidget loads them: what is drawn, the view's kind says. */
import type { Model } from './asking';
import { draw } from './kinds';
import '../style/views.css';

interface WidgetModel extends Model {
  get(name: 'kind'): string;
}

export default {
  render: ({ model, el }: { model: WidgetModel; el: HTMLElement }): (() => void) => draw(model.get('kind'), model, el)
};
