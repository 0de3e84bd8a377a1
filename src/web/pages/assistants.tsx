export default () => <p>assistants</p>;
