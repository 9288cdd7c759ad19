package import StoreFormat
package import UbiquityContainers

extension Authority {
    /// The hashes of all statements that have been read.
    package var statementHashes: Set<ContentHash> {
        var hashes = Set(accounts.statements.keys.map(\.hash))
        hashes.formUnion(accounts.enrolments.keys.map(\.hash))
        hashes.formUnion(policies.policies.keys.map(\.hash))
        hashes.formUnion(admission.all.map(\.id.hash))
        return hashes
    }

    /// The accounts whose records went when the admission was closed.
    package var shutAccounts: Set<AccountIdentifier> { emptied }

    /// The accepted policies.
    package var acceptedPolicies: [Signed<Policy>] { policies.policies.keys.sorted().compactMap(policies.accepted) }

    /// The statements that accounts and registrars have signed, by the account that they are about.
    package var accountStatements: [AccountIdentifier: [Statement]] {
        var found: [AccountIdentifier: [Statement]] = [:]
        for signed in accounts.statements.values { found[signed.account, default: []].append(.account(signed)) }
        for signed in accounts.enrolments.values { found[signed.value.account, default: []].append(.enrolment(signed)) }
        for signed in admission.all { found[signed.value.account, default: []].append(.admittance(signed)) }
        return found.mapValues { $0.sorted { $0.id < $1.id } }
    }

    /// The bases that statements name which are not in effect yet, and those of accounts that are admitted again.
    package var awaitedBases: Set<BaselineID> {
        policies.bases.union(accounts.awaitedBases).union(missingBases).subtracting(baselines)
    }

    /// Returns whether logs of an account may have changed curated tables: an accepted policy knows its devices.
    package func mayHaveHeldRoles(_ account: AccountIdentifier) -> Bool { policies.everPinned.contains(account) }

    /// The accepted policies in the order in which they hold.
    package var history: [Signed<Policy>] { policies.inOrder }

    /// Returns whether a policy is in effect, or is before the one that is.
    package func counts(_ policy: Signed<Policy>) -> Bool { policies.ancestry.contains(policy.id) }

    /// Returns the devices of an account, with the key of each.
    ///
    /// A name that two keys claim is left out, unless the account's statement gives it to one of them.
    package func deviceKeys(of account: AccountIdentifier) -> [PeerIdentifier: PublicKey] {
        accounts.deviceKeys(of: account)
    }

    /// Returns some devices of an account with all devices that they have enrolled, and those that these have enrolled.
    package func withEnrolled(_ devices: Set<PeerIdentifier>, of account: AccountIdentifier) -> Set<PeerIdentifier> {
        accounts.withEnrolled(devices, of: account)
    }

    /// Returns the statement or enrolment that names a device and its key, and that lets it act for an account now; nil
    /// if none does.
    package func certificate(of peer: PeerIdentifier, key: PublicKey, in account: AccountIdentifier) -> StatementIdentifier? {
        guard let statement = statement(of: account) else { return nil }
        if statement.value.devices[peer] == key { return statement.id }
        return accounts.enrolment(of: peer, key: key, under: statement.id)
    }
}

extension Enactment {
    /// Adds what a later arrival has changed.
    package mutating func add(_ later: Enactment) {
        let domains = Set(later.rebuilds.map(\.domain))
        rebuilds = rebuilds.filter { !domains.contains($0.domain) } + later.rebuilds
        policy = later.policy ?? policy
        accounts.formUnion(later.accounts)
        refused.merge(later.refused) { _, new in new }
        judgesAgain = judgesAgain || later.judgesAgain
    }
}
