export default () => <p>sessions</p>;
