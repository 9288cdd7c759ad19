package import UbiquityContainers

/// The decision of a container's owner: who may write what, and what remains of those who no longer may.
///
/// A policy is complete: nobody needs an earlier one to understand it. The steward, a device of the owner, signs it.
/// The owner's identity key, or an heir's, signs a policy that begins a new term, and only such a policy replaces the
/// steward.
package struct Policy: Hashable, Sendable {
    /// What a policy says of an account whose logs no longer count.
    ///
    /// A log of the account that names a policy before ``before`` counts only if the base holds it.
    package struct Cut: Hashable, Sendable {
        package var account: AccountIdentifier
        /// The version of the policy that made the cut.
        package var before: Int64
        /// The keys of the account's devices that the cut does not concern.
        ///
        /// A name would not do: a stolen device can enrol another under any name.
        package var sparing: Set<PublicKey>

        package init(account: AccountIdentifier, before: Int64, sparing: Set<PublicKey> = []) {
            (self.account, self.before, self.sparing) = (account, before, sparing)
        }
    }

    /// The number of times that the steward has been replaced.
    ///
    /// A policy of a later term is in effect before all policies of earlier terms.
    package var term: Int64 = 0
    /// The number of the policy, from 1: one more than its predecessor's.
    package var version: Int64
    /// The policy before it.
    ///
    /// Nil for the first.
    package var predecessor: StatementIdentifier?
    /// The other policies that it merges, after the steward had signed two of one number.
    package var merges: Set<StatementIdentifier> = []
    /// The account of the container's owner.
    package var owner: AccountIdentifier
    /// The key of the device that signs policies.
    package var steward: PublicKey
    /// The device that signs policies.
    package var stewardPeer: PeerIdentifier
    /// The keys that may begin a new term besides the owner's identity key.
    package var heirs: Set<PublicKey> = []
    /// The rule for changes of each table's records, by the table's name.
    package var access: [String: TableAccess] = [:]
    /// The accounts that hold each role.
    package var roles: [String: Set<AccountIdentifier>] = [:]
    /// The statement of each account that holds a role or held one.
    package var pins: [AccountIdentifier: StatementIdentifier] = [:]
    /// The accounts whose logs no longer count.
    package var cuts: Set<Cut> = []
    /// The baseline of what remains, in a policy that removes somebody.
    package var base: BaselineID?
    /// The epoch of the content's logs.
    package var epoch: Int64 = 1
    /// Which accounts may contribute.
    package var admission = Admission.open
    /// The limits of an account.
    package var limits = Limits()

    package init(
        version: Int64, predecessor: StatementIdentifier?, owner: AccountIdentifier, steward: PublicKey, stewardPeer: PeerIdentifier
    ) {
        (self.version, self.predecessor, self.owner) = (version, predecessor, owner)
        (self.steward, self.stewardPeer) = (steward, stewardPeer)
    }
}

extension Policy {
    /// Which accounts may contribute.
    package enum Admission: Hashable, Sendable {
        /// Any account.
        case open
        /// The accounts for which one of the keys has signed.
        case registrars(Set<PublicKey>)
    }

    /// The limits of an account, which every reader applies alike.
    package struct Limits: Hashable, Sendable {
        /// The number of logs of a device in an epoch: a log with a greater number has no effect.
        package var logs: Int64
        /// The number of living records of an account in a table that are shown.
        package var records: Int64

        package init(logs: Int64 = 1_000_000, records: Int64 = 1_000_000) { (self.logs, self.records) = (logs, records) }
    }
}

/// The rule for changes of a table's records in a container with a scope.
public enum TableAccess: Hashable, Sendable {
    /// Each account changes the records that hold its identifier in a column of the primary key.
    case creator(String)
    /// The accounts that hold a role change all records.
    case role(String)
}
