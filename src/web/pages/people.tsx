export default () => <p>people</p>;
