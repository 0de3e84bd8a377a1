export default () => <p>key</p>;
