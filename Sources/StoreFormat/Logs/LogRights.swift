/// The rights that the author of a signed log claims: the statements under which it acted.
package struct LogRights: Hashable, Sendable {
    /// The container that the log belongs to.
    package var container: ScopeIdentifier
    /// The policy that was in effect for the author.
    package var policy: StatementIdentifier
    /// The statement or enrolment that names the author's device and key.
    package var certificate: StatementIdentifier

    package init(container: ScopeIdentifier, policy: StatementIdentifier, certificate: StatementIdentifier) {
        (self.container, self.policy, self.certificate) = (container, policy, certificate)
    }
}
