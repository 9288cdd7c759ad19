package import StoreFormat

/// What the arrival of statements or baselines has changed.
///
/// The store saves the authority and performs the rebuilds in one transaction.
package struct Enactment: Hashable, Sendable {
    /// A domain that is to be built again: from its base, and from the logs and baselines that are here.
    package struct Rebuild: Hashable, Sendable {
        package var domain: Domain
        /// The baseline from which the domain begins; nil if it begins empty.
        package var base: BaselineID?

        package init(domain: Domain, base: BaselineID?) { (self.domain, self.base) = (domain, base) }
    }

    /// The domains that shrink, in the order in which they must be rebuilt.
    package var rebuilds: [Rebuild] = []
    /// The policy that is in effect now, if that is news.
    package var policy: StatementIdentifier?
    /// The accounts whose statement in effect is news.
    package var accounts: Set<AccountIdentifier> = []
    /// The statements that have no effect, for the list of what is rejected.
    package var refused: [StatementIdentifier: StatementFault] = [:]
    /// Whether logs and baselines that wait must be judged again.
    package var judgesAgain = false

    package init() {}
}
