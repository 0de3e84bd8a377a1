/**
 * Rewrites a network, in ONNX's protocol buffers, before the runtime reads it. Its exporter keeps a matrix as 8-bit
 * integers, and makes it floats again in each run, before it multiplies: for the decoder's 9 million weights that is
 * half of the time for a token. The runtime has an operation that multiplies with the integers themselves, as it does
 * with all other weights: `DynamicQuantizeMatMul`.
 */

/** A field of a message: its number, its wire type, and a number or bytes. */
type Field = readonly [number: number, wire: number, value: number | Buffer];

/** Field numbers of onnx.proto. */
const model = { graph: 7, opsetImport: 8 };
const opset = { domain: 1, version: 2 };
const graph = { node: 1 };
const node = { input: 1, output: 2, name: 3, type: 4, attribute: 5, domain: 7 };
const attribute = { graph: 6 };
const runtimeDomain = 'com.microsoft';

/**
 * The same network; the very bytes where there is nothing to rewrite. Throws a `RangeError` where they are no protocol
 * buffers.
 */
export function withIntegerProducts(network: Buffer): Buffer {
  let rewritten = 0;
  const inGraph = (bytes: Buffer): Buffer => {
    const fields = fieldsOf(bytes);
    const nodes = fields.filter(([number]) => number === graph.node).map(([, , value]) => new Node(value as Buffer));
    const floats = new Map(nodes.filter(isDequantized).map((each) => [each.outputs[0]!, each]));
    const products = new Map<Node, Node>();
    for (const each of nodes) {
      const source = each.type === 'MatMul' ? floats.get(each.inputs[1]!) : undefined;
      if (source !== undefined && nodes.filter(({ inputs }) => inputs.includes(source.outputs[0]!)).length === 1)
        products.set(each, source);
    }
    rewritten += products.size;
    const left = new Set(products.values());
    let place = 0;
    return message(
      fields.flatMap((field): Field[] => {
        if (field[0] !== graph.node) return [field];
        const each = nodes[place++]!;
        if (left.has(each)) return [];
        return [
          [graph.node, 2, products.has(each) ? integerProduct(each, products.get(each)!) : each.withGraphs(inGraph)],
        ];
      }),
    );
  };
  const fields = fieldsOf(network).map((field): Field =>
    field[0] === model.graph ? [field[0], field[1], inGraph(field[2] as Buffer)] : field,
  );
  const imported: Field[] = [
    [opset.domain, 2, Buffer.from(runtimeDomain)],
    [opset.version, 0, 1],
  ];
  return rewritten === 0 ? network : message([...fields, [model.opsetImport, 2, message(imported)]]);
}

/** Integers made floats by one scale and one zero point: the form that the product takes. */
const isDequantized = ({ type, inputs, fields }: Node): boolean =>
  type === 'DequantizeLinear' && inputs.length === 3 && !fields.some(([number]) => number === node.attribute);

const integerProduct = (product: Node, { inputs }: Node): Buffer =>
  message([
    ...[product.inputs[0]!, ...inputs].map((name): Field => [node.input, 2, Buffer.from(name)]),
    [node.output, 2, Buffer.from(product.outputs[0]!)],
    [node.name, 2, Buffer.from(product.name)],
    [node.type, 2, Buffer.from('DynamicQuantizeMatMul')],
    [node.domain, 2, Buffer.from(runtimeDomain)],
  ]);

class Node {
  readonly fields: readonly Field[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.fields = fieldsOf(bytes);
    this.inputs = this.#texts(node.input);
    this.outputs = this.#texts(node.output);
  }

  get name(): string {
    return this.#texts(node.name)[0] ?? '';
  }

  get type(): string {
    return this.#texts(node.type)[0] ?? '';
  }

  /** The node, with each graph in its attributes (a branch, a loop) rewritten. */
  withGraphs(rewrite: (graph: Buffer) => Buffer): Buffer {
    const isGraph = ([number]: Field): boolean => number === attribute.graph;
    const within = (field: Field): Field =>
      isGraph(field) ? [field[0], field[1], rewrite(field[2] as Buffer)] : field;
    const attributes = this.fields
      .filter(([number]) => number === node.attribute)
      .map(([, , value]) => fieldsOf(value as Buffer));
    if (!attributes.some((fields) => fields.some(isGraph))) return this.#bytes;
    return message(
      this.fields.map((field) =>
        field[0] === node.attribute ? [field[0], field[1], message(attributes.shift()!.map(within))] : field,
      ),
    );
  }

  #texts(wanted: number): string[] {
    return this.fields.filter(([number]) => number === wanted).map(([, , value]) => String(value));
  }
}

function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const number = (): number => {
    for (let [value, scale] = [0, 1]; ; scale *= 128) {
      const byte = bytes.readUInt8(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError('The network ends in the middle of a field.');
    return bytes.subarray(at, (at += length));
  };
  const fixed: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
  while (at < bytes.length) {
    const key = number();
    const wire = key % 8;
    if (wire === 0) {
      // A number of 64 bits may be more than a double holds: its bytes are kept.
      const from = at;
      number();
      fields.push([Math.floor(key / 8), wire, bytes.subarray(from, at)]);
    } else fields.push([Math.floor(key / 8), wire, take(fixed[wire] ?? number())]);
  }
  return fields;
}

const message = (fields: readonly Field[]): Buffer =>
  Buffer.concat(
    fields.flatMap(([number, wire, value]) => {
      const key = numberBytes(number * 8 + wire);
      if (typeof value === 'number') return [key, numberBytes(value)];
      return wire === 2 ? [key, numberBytes(value.length), value] : [key, value];
    }),
  );

function numberBytes(value: number): Buffer {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
}
