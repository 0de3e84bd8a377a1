export default () => <p>load</p>;
