<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
  <context>
    <name>palimpsest</name>
    <message>
      <source>Apr</source>
      <translation>Apr.</translation>
    </message>
    <message>
      <source>As the system</source>
      <translation>Wie im System</translation>
    </message>
    <message>
      <source>As the system ({zone})</source>
      <translation>Wie im System ({zone})</translation>
    </message>
    <message>
      <source>Aug</source>
      <translation>Aug.</translation>
    </message>
    <message>
      <source>Close</source>
      <translation>Schließen</translation>
    </message>
    <message>
      <source>Colours</source>
      <translation>Farben</translation>
    </message>
    <message>
      <source>Contrast</source>
      <translation>Kontrast</translation>
    </message>
    <message>
      <source>Copy {what}</source>
      <translation>{what} kopieren</translation>
    </message>
    <message>
      <source>Dark</source>
      <translation>Dunkel</translation>
    </message>
    <message>
      <source>Dates are stored in UTC and shown in this zone.</source>
      <translation>Zeiten sind in UTC gespeichert und werden in dieser Zone angezeigt.</translation>
    </message>
    <message>
      <source>Dec</source>
      <translation>Dez.</translation>
    </message>
    <message>
      <source>Documents a page</source>
      <translation>Dokumente je Seite</translation>
    </message>
    <message>
      <source>Feb</source>
      <translation>Feb.</translation>
    </message>
    <message>
      <source>High</source>
      <translation>Hoch</translation>
    </message>
    <message>
      <source>Jan</source>
      <translation>Jan.</translation>
    </message>
    <message>
      <source>Jul</source>
      <translation>Juli</translation>
    </message>
    <message>
      <source>Jun</source>
      <translation>Juni</translation>
    </message>
    <message>
      <source>Language</source>
      <translation>Sprache</translation>
    </message>
    <message>
      <source>Light</source>
      <translation>Hell</translation>
    </message>
    <message>
      <source>Mar</source>
      <translation>März</translation>
    </message>
    <message>
      <source>May</source>
      <translation>Mai</translation>
    </message>
    <message>
      <source>Motion</source>
      <translation>Bewegung</translation>
    </message>
    <message>
      <source>Normal</source>
      <translation>Normal</translation>
    </message>
    <message>
      <source>Nov</source>
      <translation>Nov.</translation>
    </message>
    <message>
      <source>Oct</source>
      <translation>Okt.</translation>
    </message>
    <message>
      <source>Reduce motion: only progress moves</source>
      <translation>Weniger Bewegung: nur Fortschritt bewegt sich</translation>
    </message>
    <message>
      <source>Sep</source>
      <translation>Sept.</translation>
    </message>
    <message>
      <source>Settings</source>
      <translation>Einstellungen</translation>
    </message>
    <message>
      <source>Taken at the next start.</source>
      <translation>Gilt ab dem nächsten Start.</translation>
    </message>
    <message>
      <source>Time zone</source>
      <translation>Zeitzone</translation>
    </message>
    <message numerus="yes">
      <source>change</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung</numerusform>
        <numerusform>Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>change is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung ist</numerusform>
        <numerusform>Änderungen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>changed field</source>
      <comment>count</comment>
      <translation>
        <numerusform>geändertes Feld</numerusform>
        <numerusform>geänderte Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>choice</source>
      <comment>count</comment>
      <translation>
        <numerusform>Entscheidung</numerusform>
        <numerusform>Entscheidungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>class</source>
      <comment>count</comment>
      <translation>
        <numerusform>Klasse</numerusform>
        <numerusform>Klassen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument</numerusform>
        <numerusform>Dokumente</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document does</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument lässt</numerusform>
        <numerusform>Dokumente lassen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument ist</numerusform>
        <numerusform>Dokumente sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document was</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument wurde</numerusform>
        <numerusform>Dokumente wurden</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>edit is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung ist</numerusform>
        <numerusform>Änderungen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>field</source>
      <comment>count</comment>
      <translation>
        <numerusform>Feld</numerusform>
        <numerusform>Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>finding</source>
      <comment>count</comment>
      <translation>
        <numerusform>Befund</numerusform>
        <numerusform>Befunde</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>further change</source>
      <comment>count</comment>
      <translation>
        <numerusform>weitere Änderung</numerusform>
        <numerusform>weitere Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>hit</source>
      <comment>count</comment>
      <translation>
        <numerusform>Treffer</numerusform>
        <numerusform>Treffer</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>more change</source>
      <comment>count</comment>
      <translation>
        <numerusform>weitere Änderung</numerusform>
        <numerusform>weitere Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>more field</source>
      <comment>count</comment>
      <translation>
        <numerusform>weiteres Feld</numerusform>
        <numerusform>weitere Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>path</source>
      <comment>count</comment>
      <translation>
        <numerusform>Pfad</numerusform>
        <numerusform>Pfade</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>promise</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zusage</numerusform>
        <numerusform>Zusagen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>repair</source>
      <comment>count</comment>
      <translation>
        <numerusform>Reparatur</numerusform>
        <numerusform>Reparaturen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>row</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zeile</numerusform>
        <numerusform>Zeilen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>scan</source>
      <comment>count</comment>
      <translation>
        <numerusform>Prüflauf</numerusform>
        <numerusform>Prüfläufe</numerusform>
      </translation>
    </message>
    <message>
      <source>today, {time}</source>
      <translation>heute, {time}</translation>
    </message>
    <message numerus="yes">
      <source>token</source>
      <comment>count</comment>
      <translation>
        <numerusform>Token</numerusform>
        <numerusform>Token</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>unchanged field</source>
      <comment>count</comment>
      <translation>
        <numerusform>unverändertes Feld</numerusform>
        <numerusform>unveränderte Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>unknown</source>
      <translation>unbekannt</translation>
    </message>
    <message numerus="yes">
      <source>version</source>
      <comment>count</comment>
      <translation>
        <numerusform>Version</numerusform>
        <numerusform>Versionen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>write</source>
      <comment>count</comment>
      <translation>
        <numerusform>Schreibvorgang</numerusform>
        <numerusform>Schreibvorgänge</numerusform>
      </translation>
    </message>
    <message>
      <source>yesterday</source>
      <translation>gestern</translation>
    </message>
    <message>
      <source>{days} days</source>
      <translation>{days} Tage</translation>
    </message>
    <message>
      <source>{days} days ago</source>
      <translation>vor {days} Tagen</translation>
    </message>
    <message>
      <source>{day} {month} {year}</source>
      <translation>{day}. {month} {year}</translation>
    </message>
    <message>
      <source>{day} {month} {year} {time}</source>
      <translation>{day}. {month} {year}, {time}</translation>
    </message>
    <message>
      <source>{hours} h</source>
      <translation>{hours} h</translation>
    </message>
    <message>
      <source>{minutes} min</source>
      <translation>{minutes} min</translation>
    </message>
    <message>
      <source>{seconds} s</source>
      <translation>{seconds} s</translation>
    </message>
  </context>
</TS>
