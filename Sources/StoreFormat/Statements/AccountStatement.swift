package import UbiquityContainers

/// The decision of an account: its devices, and what remains of those that it removed.
///
/// A statement is complete: nobody needs an earlier one to understand it. The account's identity key signs it. The hash
/// of the first is the account's identifier.
package struct AccountStatement: Hashable, Sendable {
    /// The account.
    ///
    /// Nil in the first statement, whose hash is the account's identifier.
    package var account: AccountIdentifier?
    /// The number of the statement, from 1.
    package var version: Int64
    /// The statement before it.
    ///
    /// Nil for the first.
    package var predecessor: StatementIdentifier?
    /// The key that signs the account's statements.
    ///
    /// It is the same in all of an account's statements.
    package var identity: PublicKey
    /// The keys of the account's devices.
    package var devices: [PeerIdentifier: PublicKey]
    /// The baseline of what remains of the account's records, in a statement that removes a device.
    package var base: BaselineID?

    package init(
        account: AccountIdentifier?, version: Int64, predecessor: StatementIdentifier?, identity: PublicKey,
        devices: [PeerIdentifier: PublicKey], base: BaselineID? = nil
    ) {
        (self.account, self.version, self.predecessor) = (account, version, predecessor)
        (self.identity, self.devices, self.base) = (identity, devices, base)
    }
}

/// A new device of an account, enrolled by another of its devices or by the account's identity key.
///
/// The key that enrols signs it.
package struct Enrolment: Hashable, Sendable {
    /// A device that enrols another.
    package struct Sponsor: Hashable, Sendable {
        package var device: PeerIdentifier
        /// The statement or enrolment that names the device.
        package var certificate: StatementIdentifier

        package init(device: PeerIdentifier, certificate: StatementIdentifier) { (self.device, self.certificate) = (device, certificate) }
    }

    package var account: AccountIdentifier
    /// The statement of the account that was in effect.
    package var statement: StatementIdentifier
    /// The device that enrols.
    ///
    /// Nil if the account's identity key does, as after the loss of all devices.
    package var sponsor: Sponsor?
    /// The new device.
    package var device: PeerIdentifier
    /// The key of the new device.
    package var key: PublicKey

    /// Creates an enrolment by another device.
    package init(
        account: AccountIdentifier, statement: StatementIdentifier, sponsor: PeerIdentifier, certificate: StatementIdentifier,
        device: PeerIdentifier, key: PublicKey
    ) {
        self.init(account: account, statement: statement, device: device, key: key)
        self.sponsor = Sponsor(device: sponsor, certificate: certificate)
    }

    /// Creates an enrolment by the account's identity key.
    package init(account: AccountIdentifier, statement: StatementIdentifier, device: PeerIdentifier, key: PublicKey) {
        (self.account, self.statement, self.device, self.key) = (account, statement, device, key)
    }
}

/// The word of a registrar that an account may contribute.
package struct Admittance: Hashable, Sendable {
    package var account: AccountIdentifier
    /// A policy that names the registrar.
    package var policy: StatementIdentifier

    package init(account: AccountIdentifier, policy: StatementIdentifier) { (self.account, self.policy) = (account, policy) }
}

/// The word of a domain's authority that a baseline holds what its logs come to.
package struct BaselineWarrant: Hashable, Sendable {
    package var domain: Domain
    /// The baseline.
    package var baseline: BaselineID
    /// The policy or account statement that was in effect.
    package var statement: StatementIdentifier
    /// The statement or enrolment that names the device.
    ///
    /// Nil for the steward's.
    package var certificate: StatementIdentifier?
    /// The logs that the baseline holds.
    package var knowledge: Knowledge

    package init(
        domain: Domain, baseline: BaselineID, statement: StatementIdentifier, certificate: StatementIdentifier?, knowledge: Knowledge
    ) {
        (self.domain, self.baseline, self.statement) = (domain, baseline, statement)
        (self.certificate, self.knowledge) = (certificate, knowledge)
    }
}
